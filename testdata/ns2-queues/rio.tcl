# One dsRED queue of ns-2 with a token bucket for each of two constant-rate sources with jitter. Prints the packets and
# drops of each code point: 10 and 12 in profile, 11 and 13 out.
# usage: ns rio.tcl SEED SECONDS MODE RATE1 RATE2 CIR1    (MODE RIO-C or RIO-D; Mbit/s; CIR2 is 1)
foreach {seed T mode rate1 rate2 cir} $argv break
set ns [new Simulator]
ns-random $seed
foreach n {s1 s2 b c} { set $n [$ns node] }
foreach s {s1 s2} {
    $ns simplex-link [set $s] $b 1000Mb 1ms DropTail
    $ns simplex-link $b [set $s] 1000Mb 1ms DropTail
}
$ns simplex-link $b $c 8Mb 10ms dsRED/edge
$ns simplex-link $c $b 8Mb 10ms DropTail
$ns queue-limit $b $c 50
set q [[$ns link $b $c] queue]
$q meanPktSize 1000
$q set numQueues_ 1
$q setNumPrec 2
$q setMREDMode $mode 0
foreach {code precedence} {10 0 11 1 12 0 13 1} { $q addPHBEntry $code 0 $precedence }
$q configQ 0 0 20 40 0.02 0.002
$q configQ 0 1 10 20 0.10 0.002
$q addPolicyEntry [$s1 id] [$c id] TokenBucket 10 [expr $cir * 1e6] 10000
$q addPolicyEntry [$s2 id] [$c id] TokenBucket 12 1e6 10000
$q addPolicerEntry TokenBucket 10 11
$q addPolicerEntry TokenBucket 12 13
foreach i {1 2} {
    set udp [new Agent/UDP]
    $udp set packetSize_ 1500
    set null [new Agent/Null]
    $ns attach-agent [set s$i] $udp
    $ns attach-agent $c $null
    $ns connect $udp $null
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ 1000
    $cbr set rate_ [set rate$i]Mb
    $cbr set random_ 1
    $cbr attach-agent $udp
    $ns at 0.000$i "$cbr start"
}
$ns at $T {
    $q printStats
    exit 0
}
$ns run
