# n flows of one kind with equal round-trip times and nothing else: the queue each 10 ms from the tenth second on
# (../../sigcomm2000/fig-28). `era=2000` sets TCP as it was then, as far as ns-2.35 can.
source [file join [file dirname [info script]] common.tcl]
parse_args {bw 15 n 40 kind tfrc q droptail qlen 250 minth 25 maxth 125 dur 30 from 10 seed 1 pkt 1000 rtt 45 start 5 era 2000
    overrides -}
seed_all $opt(seed)
Agent/TCP set window_ 5000
Agent/TCP set packetSize_ [expr $opt(pkt)-40]
if {$opt(era) == 2000} {
    apply_overrides "Agent/TCP:windowInit_:1,Agent/TCP:singledup_:0,Agent/TCP:tcpTick_:0.1,Agent/TCP:precisionReduce_:false,Agent/TCP:syn_:false"
}
Agent/TFRC set packetSize_ [expr $opt(pkt)-32]
red_defaults pkt $opt(pkt) $opt(minth) $opt(maxth)
apply_overrides $opt(overrides)
set ns [new Simulator]
set r1 [$ns node]; set r2 [$ns node]
$ns duplex-link $r1 $r2 $opt(bw)Mb 10ms [expr {$opt(q) == "red" ? "RED" : "DropTail"}]
$ns queue-limit $r1 $r2 $opt(qlen); $ns queue-limit $r2 $r1 1000
set mon [$ns monitor-queue $r1 $r2 ""]
for {set i 0} {$i < $opt(n)} {incr i} {
    set s [$ns node]; set d [$ns node]
    $ns duplex-link $s $r1 100Mb [expr $opt(rtt)/2.0-10]ms DropTail
    $ns duplex-link $r2 $d 100Mb 0ms DropTail
    foreach p [list [list $s $r1] [list $r1 $s] [list $r2 $d] [list $d $r2]] { $ns queue-limit [lindex $p 0] [lindex $p 1] 20000 }
    if {$opt(kind) == "tcp"} {
        set f [[mk_tcp $ns $s $d $i sack [expr $opt(pkt)-40]] attach-app FTP]
    } else {
        set f [lindex [$ns create-connection-list TFRC $s TFRCSink $d $i] 0]
    }
    $ns at [urand 0 $opt(start)] "$f start"
}
proc sample {} {
    global mon ns waiting
    lappend waiting [$mon set pkts_]
    $ns at [expr [$ns now]+0.01] sample
}
$ns at $opt(from) sample
proc fin {} {
    global waiting mon
    out queue [join $waiting ,]
    out drops [expr double([$mon set pdrops_]) / [$mon set parrivals_]]
}
timed_run $ns $opt(dur) fin
