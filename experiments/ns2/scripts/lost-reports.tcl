# TFRC flows over a path that never queues and loses packets and reports at random.
# drop, back: share of packets and of reports lost
# hole: packets lost from the start of each flow on, and no other; way: one-way delay of the middle link in ms
source [file join [file dirname [info script]] common.tcl]
parse_args {drop 0.1 back 0.28 seg 1460 n 20 seed 1 dur 1000 warm 50 way 308 start 2 hole 0 overrides -}
seed_all $opt(seed)
Queue set limit_ 100000
apply_overrides $opt(overrides)
set ns [new Simulator]
proc lossy {rate} {
    set em [new ErrorModel]
    $em set rate_ $rate
    $em unit pkt
    $em ranvar [new RandomVariable/Uniform]
    $em drop-target [new Agent/Null]
    return $em
}
for {set i 0} {$i < $opt(n)} {incr i} {
    set s [$ns node]; set r1 [$ns node]; set r2 [$ns node]; set d [$ns node]
    $ns duplex-link $s $r1 100Mb 1ms DropTail
    $ns duplex-link $r1 $r2 100Mb $opt(way)ms DropTail
    $ns duplex-link $r2 $d 100Mb 1ms DropTail
    if {$opt(hole) > 0} {
        set em [new ErrorModel/List]
        set list {}
        for {set k 0} {$k < $opt(hole)} {incr k} { lappend list $k }
        $em droplist $list
        $em drop-target [new Agent/Null]
        $ns lossmodel $em $r1 $r2
    } else {
        $ns lossmodel [lossy $opt(drop)] $r1 $r2
    }
    $ns lossmodel [lossy $opt(back)] $r2 $r1
    set pr [$ns create-connection-list TFRC $s TFRCSink $d $i]
    set a($i) [lindex $pr 0]
    $a($i) set packetSize_ $opt(seg)
    set sink($i) [lindex $pr 1]
    $ns at [urand 0 $opt(start)] "$a($i) start"
}
proc snap {w} { global a opt st; for {set i 0} {$i<$opt(n)} {incr i} { set st($w,$i) [$a($i) set ndatapack_] } }
$ns at $opt(warm) "snap w"
proc fin {} {
    global a opt st
    snap e
    set p 0
    for {set i 0} {$i<$opt(n)} {incr i} { incr p [expr $st(e,$i)-$st(w,$i)] }
    out rate_bps [expr double($p)*$opt(seg)*8.0/($opt(dur)-$opt(warm))/$opt(n)]
}
timed_run $ns $opt(dur) fin
