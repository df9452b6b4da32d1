# TFRC-SP flows that always have something to send, over a path that loses packets at random (RFC 4828, Appendix C): how
# much the sending rate varies. short: 1 counts all losses of a loss interval of at most two round-trip times, 3 is the
# gradual count. Without the 10 ms between packets, unless voipmax=100. cov_5s, cov_20s: the coefficient of variation of
# what a flow sends in bins of 5 and 20 s after warm, the mean over the flows.
source [file join [file dirname [info script]] common.tcl]
parse_args {drop 0.2 short 1 voip 1 seg 14 n 5 seed 1 dur 200 warm 50 voipmax 1000000 overrides -}
seed_all $opt(seed)
Queue set limit_ 100000
Agent/TFRC set voip_max_pkt_rate_ $opt(voipmax)
apply_overrides $opt(overrides)
set ns [new Simulator]
foreach k {s r1 r2 d} { set $k [$ns node] }
$ns duplex-link $s $r1 100Mb 1ms DropTail
$ns duplex-link $r1 $r2 100Mb 118ms DropTail
$ns duplex-link $r2 $d 100Mb 1ms DropTail
set em [new ErrorModel]
$em set rate_ $opt(drop)
$em unit pkt
$em ranvar [new RandomVariable/Uniform]
$em drop-target [new Agent/Null]
$ns lossmodel $em $r1 $r2
for {set i 0} {$i < $opt(n)} {incr i} {
    set pr [$ns create-connection-list TFRC $s TFRCSink $d $i]
    set a($i) [lindex $pr 0]
    $a($i) set packetSize_ $opt(seg)
    $a($i) set voip_ $opt(voip)
    [lindex $pr 1] set ShortIntervals_ $opt(short)
    $ns at [urand 0 2] "$a($i) start"
    set l($i) {}
}
proc sample {} {
    global a l opt ns
    for {set i 0} {$i < $opt(n)} {incr i} { lappend l($i) [$a($i) set ndatapack_] }
    $ns at [expr [$ns now] + 5] sample
}
$ns at $opt(warm) sample
proc cov {counts step} {
    set m 0; set s 0.0; set q 0.0
    for {set k $step} {$k < [llength $counts]} {incr k $step} {
        set x [expr [lindex $counts $k] - [lindex $counts [expr $k - $step]]]
        incr m; set s [expr $s + $x]; set q [expr $q + double($x) * $x]
    }
    set mean [expr $s / $m]
    return [expr sqrt(($q / $m) - $mean * $mean) / $mean]
}
proc fin {} {
    global a l opt
    set packets 0; set c5 0.0; set c20 0.0
    for {set i 0} {$i < $opt(n)} {incr i} {
        lappend l($i) [$a($i) set ndatapack_]
        incr packets [expr [lindex $l($i) end] - [lindex $l($i) 0]]
        set c5 [expr $c5 + [cov $l($i) 1] / $opt(n)]
        set c20 [expr $c20 + [cov $l($i) 4] / $opt(n)]
    }
    out kbps [format %.4f [expr $packets * ($opt(seg) + 32) * 8.0 / ($opt(dur) - $opt(warm)) / $opt(n) / 1000]]
    out cov_5s [format %.4f $c5]
    out cov_20s [format %.4f $c20]
}
timed_run $ns $opt(dur) fin
