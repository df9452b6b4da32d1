# One RED queue of ns-2 under constant-rate sources with jitter. Prints averages over the last 80 % of the run.
# usage: ns red.tcl SEED SECONDS BYTES_ QUEUE_IN_BYTES_ ADAPTIVE_ WAIT_ AUTO MIX LOAD
#   AUTO 0: thresholds 5 and 15 packets, weight 0.002; 1: what ns-2 chooses
#   MIX 0: packets of 1000 B; 1: three quarters of the bytes in these, the rest in packets of 200 B
#   LOAD: what is sent, over the 8 Mbit/s of the link
foreach {seed T bytes qib adaptive wait auto mix load} $argv break
Queue/RED set bytes_ $bytes
Queue/RED set queue_in_bytes_ $qib
Queue/RED set adaptive_ $adaptive
Queue/RED set wait_ $wait
Queue/RED set mean_pktsize_ 1000
if {!$auto} {
    Queue/RED set thresh_ 5
    Queue/RED set maxthresh_ 15
    Queue/RED set q_weight_ 0.002
}
set ns [new Simulator]
ns-random $seed
foreach n {a b c} { set $n [$ns node] }
$ns simplex-link $a $b 1000Mb 1ms DropTail
$ns simplex-link $b $a 1000Mb 1ms DropTail
$ns simplex-link $b $c 8Mb 10ms RED
$ns simplex-link $c $b 8Mb 10ms DropTail
$ns queue-limit $a $b 100000
$ns queue-limit $b $c 200
set q [[$ns link $b $c] queue]
set mon [$ns monitor-queue $b $c ""]
proc source_of {size rate} {
    global ns a c
    set udp [new Agent/UDP]
    $udp set packetSize_ 1500
    set null [new Agent/Null]
    $ns attach-agent $a $udp
    $ns attach-agent $c $null
    $ns connect $udp $null
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ $size
    $cbr set rate_ $rate
    $cbr set random_ 1
    $cbr attach-agent $udp
    return $cbr
}
if {$mix} {
    set large [source_of 1000 [expr $load * 6e6]]
    set small [source_of 200 [expr $load * 2e6]]
    $ns at 0.0003 "$small start"
} else {
    set large [source_of 1000 [expr $load * 8e6]]
}
$ns at 0.0 "$large start"
set samples 0; set average 0; set max_p 0
proc sample {} {
    global ns q samples average max_p
    set average [expr $average + [$q set ave_]]
    set max_p [expr $max_p + [$q set cur_max_p_]]
    incr samples
    $ns at [expr [$ns now] + 0.01] sample
}
$ns at [expr $T * 0.2] {
    set arrivals [$mon set parrivals_]
    set drops [$mon set pdrops_]
    sample
}
$ns at $T {
    set rate [expr double([$mon set pdrops_] - $drops) / ([$mon set parrivals_] - $arrivals)]
    puts [format "average %.4f max_p %.5f drops %.5f" [expr $average / $samples] [expr $max_p / $samples] $rate]
    exit 0
}
$ns run
