# The dumbbell of scenarios/dumbbell-perf.toml, for timing: ntcp SACK TCPs and ntfrc TFRC flows, each with hosts and lines of
# its own. No tracing; with count=1 (not for timing) it prints the packet-hops: a packet that is delivered crosses three
# links, one that the bottleneck drops has crossed one.
source [file join [file dirname [info script]] common.tcl]
parse_args {bw 15 access 100 ntcp 16 ntfrc 16 qlen 100 dur 100 count 0 seed 1}
seed_all $opt(seed)
Agent/TCP set window_ 20000
Agent/TCP set overhead_ 0.00001
Agent/TCP set packetSize_ 960
Agent/TFRC set packetSize_ 1000
set ns [new Simulator]
set left [$ns node]; set right [$ns node]
$ns duplex-link $left $right $opt(bw)Mb 20ms DropTail
$ns queue-limit $left $right $opt(qlen)
$ns queue-limit $right $left 1000000
for {set i 0} {$i < $opt(ntcp) + $opt(ntfrc)} {incr i} {
    set a [$ns node]; set b [$ns node]
    foreach {x y} [list $a $left $right $b] {
        $ns duplex-link $x $y $opt(access)Mb 2.5ms DropTail
        $ns queue-limit $x $y 1000000
        $ns queue-limit $y $x 1000000
    }
    if {$i < $opt(ntcp)} {
        set source [new Agent/TCP/Sack1]
        set sink [new Agent/TCPSink/Sack1/DelAck]
    } else {
        set source [new Agent/TFRC]
        set sink [new Agent/TFRCSink]
    }
    $ns attach-agent $a $source
    $ns attach-agent $b $sink
    $ns connect $source $sink
    set starter $source
    if {$i < $opt(ntcp)} { set starter [$source attach-app FTP] }
    $ns at [urand 0 5] "$starter start"
}
if {$opt(count)} {
    set there [$ns monitor-queue $left $right ""]
    set back [$ns monitor-queue $right $left ""]
}
proc fin {} {
    global opt there back
    if {$opt(count)} {
        out hops [expr 3*([$there set pdepartures_]+[$back set pdepartures_])+[$there set pdrops_]]
    }
}
timed_run $ns $opt(dur) fin
