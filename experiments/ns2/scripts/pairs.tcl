# n pairs of a SACK TCP and a TFRC flow through one queue, up to four TCPs the other way, TCP with the defaults of early 2000
# (../../sigcomm2000/fig-06, fig-07): what arrived from 30 to 90 s over the fair share, the use of the line, its
# drops. What arrived: packets that left the line, first time or again.
# TFRC is ns-2.35's, the only one that there is: its rules are those of 2001 and later, not the report's.
# rate: in Mbit/s, as 8Mbit/s; queue: droptail or red
source [file join [file dirname [info script]] common.tcl]
parse_args {rate 15Mbit/s n 16 queue red seed 1 overrides -}
seed_all $opt(seed)
set rate [expr {double([string map {Mbit/s ""} $opt(rate)])}]
tcp_of_2000
Agent/TFRC set useHeaders_ false
Agent/TFRC set packetSize_ 1000
set limit [expr {int(15 * $rate)}]
red_defaults pkt 1000 [expr {3 + $limit / 10}] [expr {10 + $limit / 3}]
apply_overrides $opt(overrides)
set ns [new Simulator]
set near [$ns node]
set far [$ns node]
$ns simplex-link $near $far ${rate}Mb 20ms [expr {$opt(queue) eq "red" ? "RED" : "DropTail"}]
$ns simplex-link $far $near ${rate}Mb 20ms DropTail
$ns queue-limit $near $far $limit
$ns queue-limit $far $near $limit
set fmon [$ns makeflowmon Fid]
$ns attach-fmon [$ns link $near $far] $fmon
proc ends {delay} {
    global ns near far
    set a [$ns node]
    set b [$ns node]
    $ns duplex-link $a $near 100Mb 2ms DropTail
    $ns duplex-link $far $b 100Mb ${delay}ms DropTail
    return [list $a $b]
}
for {set i 0} {$i < $opt(n)} {incr i} {
    set start [expr {$i * 0.1 + [urand 0 0.01]}]
    lassign [ends [expr {$i / 3}]] a b
    set tcp [mk_tcp $ns $a $b [expr {2*$i}] sack 1000]
    $ns at $start "[$tcp attach-app FTP] start"
    lassign [ends [expr {$i / 3}]] a b
    set tfrc [$ns create-connection TFRC $a TFRCSink $b [expr {2*$i+1}]]
    $ns at $start "$tfrc start"
    if {$i < 4} {
        set back [mk_tcp $ns $b $a 5000 sack 1000]
        $back set window_ 20
        $ns at $i "[$back attach-app FTP] start"
    }
}
# The packets of each flow that have left the line, and the counts of the line.
proc stats {w} {
    global fmon st opt
    for {set i 0} {$i < 2*$opt(n)} {incr i} {
        set f [[$fmon classifier] lookup auto 0 0 $i]
        set st($w,$i) [expr {$f == "" ? 0 : [$f set pdepartures_]}]
    }
    set st($w,line) [list [$fmon set bdepartures_] [$fmon set pdrops_] [$fmon set parrivals_]]
}
$ns at 30 "stats w"
proc fin {} {
    global st opt rate
    stats e
    set share [expr {60.0 * $rate * 1e6 / 8000 / 2 / $opt(n)}]
    foreach {kind first} {tcp 0 tfrc 1} {
        set l {}
        for {set i $first} {$i < 2*$opt(n)} {incr i 2} { lappend l [expr {($st(e,$i)-$st(w,$i))/$share}] }
        out mean_$kind [mean $l]
        out spread_$kind [variation $l]
    }
    lassign $st(w,line) b0 d0 a0; lassign $st(e,line) b1 d1 a1
    out utilization [expr {($b1-$b0)/(60*$rate*1e6/8)}]
    out drop_rate [expr {double($d1-$d0)/($a1-$a0)}]
}
timed_run $ns 90 fin
