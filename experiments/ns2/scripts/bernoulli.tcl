# Flows of one kind over a path that loses packets or bytes at random (unit) and never queues; or that loses the packets of a list.
# proto: sack, newreno, reno, tahoe, tfrc, tfrcsp; appms: time between packets of the application, 0 for as many as allowed
# drops: packets to lose, counted from 0 over the whole link, in place of the random loss; bin: trace of packets sent; delay: of the middle link
source [file join [file dirname [info script]] common.tcl]
parse_args {proto sack drop 0.01 seg 1460 n 10 seed 1 dur 100 warm 20 win 100 appms 0 start 2 drops - bin 0 unit pkt delay 118ms overrides -}
seed_all $opt(seed)
Agent/TCP set window_ $opt(win)
Queue set limit_ 100000
apply_overrides $opt(overrides)
set ns [new Simulator]
set s [$ns node]; set r1 [$ns node]; set r2 [$ns node]; set d [$ns node]
$ns duplex-link $s $r1 100Mb 1ms DropTail
$ns duplex-link $r1 $r2 100Mb $opt(delay) DropTail
$ns duplex-link $r2 $d 100Mb 1ms DropTail
if {$opt(drops) == "-"} {
    set em [new ErrorModel]
    $em set rate_ $opt(drop)
    $em unit $opt(unit)
    $em ranvar [new RandomVariable/Uniform]
} else {
    set em [new ErrorModel/List]
    $em droplist [split $opt(drops) ","]
}
$em drop-target [new Agent/Null]
$ns lossmodel $em $r1 $r2
for {set i 0} {$i < $opt(n)} {incr i} {
    set begin [urand 0 $opt(start)]
    if {![string match tfrc* $opt(proto)]} {
        set a($i) [mk_tcp $ns $s $d $i $opt(proto) $opt(seg)]
        set app [$a($i) attach-app FTP]
        $ns at $begin "$app start"
        continue
    }
    set pr [$ns create-connection-list TFRC $s TFRCSink $d $i]
    set a($i) [lindex $pr 0]
    $a($i) set packetSize_ $opt(seg)
    if {$opt(proto) == "tfrcsp"} { $a($i) set voip_ 1; [lindex $pr 1] set ShortIntervals_ 1 }
    if {$opt(appms) > 0} {
        $a($i) set SndrType_ 1
        set c [new Application/Traffic/CBR]
        $c set packetSize_ $opt(seg)
        $c set interval_ [expr $opt(appms)/1000.0]
        $c attach-agent $a($i)
        $ns at $begin "$c start"
    } else {
        $ns at $begin "$a($i) start"
    }
}
proc snap {w} { global a opt st; for {set i 0} {$i<$opt(n)} {incr i} {
    set st($w,$i) [$a($i) set ndatapack_]
    set st($w,cuts,$i) [expr {[string match tfrc* $opt(proto)] ? 0 : [$a($i) set ncwndcuts_]}] } }
proc sample {} { global a bins ns opt; lappend bins [$a(0) set ndatapack_]; $ns at [expr [$ns now]+$opt(bin)] sample }
if {$opt(bin) > 0} { $ns at $opt(bin) sample }
$ns at $opt(warm) "snap w"
proc fin {} {
    global a opt st bins
    snap e
    set p 0; set c 0; set acked 0
    for {set i 0} {$i<$opt(n)} {incr i} {
        incr p [expr $st(e,$i)-$st(w,$i)]
        incr c [expr $st(e,cuts,$i)-$st(w,cuts,$i)]
        # The acknowledgement of the SYN is 0, and before it there is -1.
        if {![string match tfrc* $opt(proto)] && [$a($i) set ack_] > 0} { incr acked [$a($i) set ack_] }
    }
    out rate_bps [expr double($p)*$opt(seg)*8.0/($opt(dur)-$opt(warm))/$opt(n)]
    # Payload of the whole run; what is sent has the SYN as a segment.
    out send_kbps [format %.5f [expr double($p)*$opt(seg)*8.0/($opt(dur)-$opt(warm))/$opt(n)/1000]]
    out goodput_kbps [format %.5f [expr double($acked)*$opt(seg)*8.0/$opt(dur)/$opt(n)/1000]]
    if {$p > 0} { out cuts_per_packet [expr double($c)/$p] }
    if {$opt(bin) > 0} { out trace [join $bins ,] }
}
timed_run $ns $opt(dur) fin
