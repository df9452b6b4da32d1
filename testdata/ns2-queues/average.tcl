# The average of one RED queue of ns-2 (packet mode, thresholds and weight of its own) at each arrival: on/off sources fill and
# empty it. No two of their sizes are in proportion, so that idle times are not whole packets.
# usage: ns average.tcl SECONDS QUEUE-TRACE RED-TRACE
lassign $argv seconds packets variables
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
set ns [new Simulator]
ns-random 1
foreach n {a b c} { set $n [$ns node] }
$ns simplex-link $a $b 1000Mb 1ms DropTail
$ns simplex-link $b $a 1000Mb 1ms DropTail
$ns simplex-link $b $c 3Mb 10ms RED
$ns simplex-link $c $b 3Mb 10ms DropTail
$ns queue-limit $b $c 100
$ns trace-queue $b $c [open $packets w]
set q [[$ns link $b $c] queue]
$q attach [open $variables w]
foreach v {ave_ curq_ prob1_} { $q trace $v }
foreach {size rate} {1010 1.5e6 1430 2e6 190 0.6e6 870 0.8e6} {
    set u [new Agent/UDP]; $u set packetSize_ 1500
    set z [new Agent/Null]
    $ns attach-agent $a $u; $ns attach-agent $c $z; $ns connect $u $z
    set t [new Application/Traffic/Exponential]
    foreach {k v} [list packetSize_ $size burst_time_ 0.2 idle_time_ 0.1 rate_ $rate] { $t set $k $v }
    $t attach-agent $u
    $ns at 0 "$t start"
}
$ns at $seconds { $ns flush-trace; exit 0 }
$ns run
