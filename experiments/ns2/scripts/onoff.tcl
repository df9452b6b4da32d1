# One SACK TCP (defaults of early 2000) and one TFRC flow beside Pareto on/off sources, through one RED queue at 15 Mbit/s:
# sigcomm2000/fig-11 to fig-13.
# each: a fifth of the sources; draws: kinds (five of them, with the midpoints of the fifths of what is drawn) or drawn
# (mean ON time uniform from 0 to 2 s, mean OFF time from 0 to 4 s, rate from 0 to 1 Mbit/s, as the authors' script draws them)
source [file join [file dirname [info script]] common.tcl]
parse_args {each 20 draws kinds dur 2500 warm 20 seed 1 scales 0.4,0.6,0.8,1,2,4,6,8,10,20,30,40,50,60,70,80,100 overrides -}
seed_all $opt(seed)
tcp_of_2000
Agent/TCP set overhead_ 0.002
Agent/TFRC set packetSize_ 968
red_defaults pkt 1000 10 50
apply_overrides $opt(overrides)
set ns [new Simulator]
set r1 [$ns node]; set r2 [$ns node]
$ns simplex-link $r1 $r2 15Mb 10ms RED
$ns simplex-link $r2 $r1 15Mb 10ms DropTail
$ns queue-limit $r1 $r2 100; $ns queue-limit $r2 $r1 100
set mon [$ns monitor-queue $r1 $r2 ""]
proc pair {} {
    global ns r1 r2
    set ad [expr {([urand 80 120]/2.0-10)/2.0}]
    set s [$ns node]; set d [$ns node]
    $ns duplex-link $s $r1 100Mb ${ad}ms DropTail
    $ns duplex-link $r2 $d 100Mb ${ad}ms DropTail
    foreach p [list [list $s $r1] [list $r1 $s] [list $r2 $d] [list $d $r2]] { $ns queue-limit [lindex $p 0] [lindex $p 1] 20000 }
    return [list $s $d]
}
lassign [pair] s d
set a(tcp) [mk_tcp $ns $s $d 0 sack 1000]
set app [$a(tcp) attach-app FTP]
$ns at [urand 0 5] "$app start"
lassign [pair] s d
set a(tfrc) [lindex [$ns create-connection-list TFRC $s TFRCSink $d 1] 0]
$ns at [urand 0 5] "$a(tfrc) start"
lassign [pair] s d
foreach {rate on off} {300 0.2 2.0  500 0.6 2.8  100 1.0 0.4  700 1.4 3.6  900 1.8 1.2} {
    for {set i 0} {$i < $opt(each)} {incr i} {
        if {$opt(draws) == "drawn"} { set on [urand 0 2]; set off [urand 0 4]; set rate [urand 0 1000] }
        set u [new Agent/UDP]; $u set packetSize_ 1000; set z [new Agent/Null]
        $ns attach-agent $s $u; $ns attach-agent $d $z; $ns connect $u $z
        set t [new Application/Traffic/Pareto]
        foreach {k v} [list packetSize_ 1000 burst_time_ ${on}s idle_time_ ${off}s rate_ ${rate}k shape_ 1.5] { $t set $k $v }
        $t attach-agent $u
        $ns at [urand 0 5] "$t start"
    }
}
proc sample {} {
    global a ns bins
    foreach k {tcp tfrc} { lappend bins($k) [$a($k) set ndatapack_] }
    $ns at [expr {[$ns now]+0.2}] sample
}
proc stats {w} { global st mon; set st($w) [list [$mon set parrivals_] [$mon set pdrops_] [$mon set bdepartures_] [$mon set barrivals_]] }
$ns at $opt(warm) "stats w; sample"
proc fin {} {
    global st opt bins
    stats e
    lassign $st(w) a0 d0 b0 o0; lassign $st(e) a1 d1 b1 o1
    set h [expr {double($opt(dur)-$opt(warm))}]
    out loss [expr {double($d1-$d0)/($a1-$a0)}]
    out offered_load [expr {($o1-$o0)*8.0/$h/15e6}]
    out utilization [expr {($b1-$b0)*8.0/$h/15e6}]
    foreach scale [split $opt(scales) ","] {
        set steps [expr {int($scale/0.2+0.5)}]
        foreach k {tcp tfrc} { set l($k) [stretches $bins($k) $steps] }
        out at_${scale}s [equivalence $l(tcp) $l(tfrc)]
        out TFRC_${scale}s [variation $l(tfrc)]
        out TCP_${scale}s [variation $l(tcp)]
    }
}
timed_run $ns $opt(dur) fin
