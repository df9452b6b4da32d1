# n pairs of a SACK TCP and a TFRC flow through one queue, up to four TCPs the other way, TCP with the defaults of early 2000
# (../../experiments/sigcomm2000/fig-06): the mean rates from 30 to 90 s over the fair share, the use of the line, its drops.
# Usage: ns pairs.tcl MBIT N droptail|red SEED
lassign $argv rate n queue seed
foreach {name value} {minrto_ 0 rfc2988_ false tcpTick_ 0.1 windowInit_ 1 singledup_ 0 syn_ false delay_growth_ false
    precisionReduce_ false rtxcur_init_ 6.0 maxrto_ 100000 timerfix_ false updated_rttvar_ false exitFastRetrans_ false
    useHeaders_ false packetSize_ 1000 window_ 10000} {
    Agent/TCP set $name $value
}
Agent/TFRC set useHeaders_ false
Agent/TFRC set packetSize_ 1000
foreach {name value} {bytes_ false queue_in_bytes_ false gentle_ true q_weight_ 0.002 mean_pktsize_ 1000 linterm_ 10} {
    Queue/RED set $name $value
}
ns-random $seed
set limit [expr {15 * $rate}]
Queue/RED set thresh_ [expr {3 + $limit / 10}]
Queue/RED set maxthresh_ [expr {10 + $limit / 3}]
set ns [new Simulator]
set near [$ns node]
set far [$ns node]
$ns simplex-link $near $far ${rate}Mb 20ms [expr {$queue eq "red" ? "RED" : "DropTail"}]
$ns simplex-link $far $near ${rate}Mb 20ms DropTail
$ns queue-limit $near $far $limit
$ns queue-limit $far $near $limit
proc ends {delay} {
    global ns near far
    set a [$ns node]
    set b [$ns node]
    $ns duplex-link $a $near 100Mb 2ms DropTail
    $ns duplex-link $far $b 100Mb ${delay}ms DropTail
    return [list $a $b]
}
set tcps {}
set tfrcs {}
set random [new RNG]
$random seed $seed
for {set i 0} {$i < $n} {incr i} {
    set start [expr {$i * 0.1 + [$random uniform 0 0.01]}]
    lassign [ends [expr {$i / 3}]] a b
    set tcp [$ns create-connection TCP/Sack1 $a TCPSink/Sack1 $b 0]
    $ns at $start "[$tcp attach-app FTP] start"
    lappend tcps $tcp
    lassign [ends [expr {$i / 3}]] a b
    set tfrc [$ns create-connection TFRC $a TFRCSink $b 0]
    $ns at $start "$tfrc start"
    lappend tfrcs $tfrc
    if {$i < 4} {
        set back [$ns create-connection TCP/Sack1 $b TCPSink/Sack1 $a 1]
        $back set window_ 20
        $ns at $i "[$back attach-app FTP] start"
    }
}
set line [$ns monitor-queue $near $far ""]
proc sums {} {
    global tcps tfrcs line
    set of {flows { set sum 0; foreach flow $flows { incr sum [$flow set ndatapack_] }; return $sum }}
    list [apply $of $tcps] [apply $of $tfrcs] [$line set bdepartures_] [$line set pdrops_] [$line set parrivals_]
}
$ns at 30 {set first [sums]}
$ns at 90 {
    lassign $first tcp0 tfrc0 bytes0 drops0 packets0
    lassign [sums] tcp tfrc bytes drops packets
    set share [expr {60.0 * $rate * 1e6 / 8000 / 2}]
    puts [format "%.4f %.4f %.4f %.4f" [expr {($tcp - $tcp0) / $share}] [expr {($tfrc - $tfrc0) / $share}] \
        [expr {($bytes - $bytes0) / (60 * $rate * 1e6 / 8)}] [expr {double($drops - $drops0) / ($packets - $packets0)}]]
    exit 0
}
$ns run
