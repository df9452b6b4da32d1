# Four SACK TCPs and four TFRC flows beside on/off sources or web sessions, through a drop-tail queue at 15 Mbit/s.
source [file join [file dirname [info script]] common.tcl]
parse_args {onoff 0 web 0 n 4 dur 400 warm 50 seed 1 pkt 1000 overrides -}
seed_all $opt(seed)
Agent/TCP set window_ 100
Agent/TCP set packetSize_ 960
apply_overrides $opt(overrides)
set ns [new Simulator]
set r1 [$ns node]; set r2 [$ns node]
$ns duplex-link $r1 $r2 15Mb 10ms DropTail
$ns queue-limit $r1 $r2 100; $ns queue-limit $r2 $r1 100
set mon [$ns monitor-queue $r1 $r2 ""]
proc pair {} {
    global ns r1 r2
    set s [$ns node]; set d [$ns node]
    $ns duplex-link $s $r1 100Mb 40ms DropTail
    $ns duplex-link $r2 $d 100Mb 0ms DropTail
    foreach p [list [list $s $r1] [list $r1 $s] [list $r2 $d] [list $d $r2]] { $ns queue-limit [lindex $p 0] [lindex $p 1] 20000 }
    return [list $s $d]
}
for {set i 0} {$i < $opt(n)} {incr i} {
    set p [pair]
    set a(tcp,$i) [mk_tcp $ns [lindex $p 0] [lindex $p 1] $i sack 960]
    set f [$a(tcp,$i) attach-app FTP]
    $ns at [urand 0 5] "$f start"
    set p [pair]
    set a(tfrc,$i) [lindex [$ns create-connection-list TFRC [lindex $p 0] TFRCSink [lindex $p 1] [expr 100+$i]] 0]
    $a(tfrc,$i) set packetSize_ 968
    $ns at [urand 0 5] "$a(tfrc,$i) start"
}
for {set i 0} {$i < $opt(onoff)} {incr i} {
    set p [pair]
    set u [new Agent/UDP]; $u set packetSize_ 1000; set z [new Agent/Null]
    $ns attach-agent [lindex $p 0] $u; $ns attach-agent [lindex $p 1] $z; $ns connect $u $z
    set t [new Application/Traffic/Pareto]
    foreach {k v} {packetSize_ 1000 burst_time_ 1s idle_time_ 2s rate_ 500k shape_ 1.5} { $t set $k $v }
    $t attach-agent $u
    $ns at [urand 0 5] "$t start"
}
if {$opt(web) > 0} {
    set p [pair]
    PagePool/WebTraf set TCPTYPE_ Sack1
    PagePool/WebTraf set TCPSINKTYPE_ TCPSink/Sack1
    PagePool/WebTraf set FID_ASSIGNING_MODE_ 2
    set pool [new PagePool/WebTraf]
    $pool set sameFid_ 600
    $pool set-num-client 1; $pool set-num-server 1
    $pool set-client 0 [lindex $p 1]; $pool set-server 0 [lindex $p 0]
    $pool set-num-session $opt(web)
    for {set i 0} {$i < $opt(web)} {incr i} {
        set x [new RandomVariable/Exponential]; $x set avg_ 1.0
        set b [new RandomVariable/Constant]; $b set val_ 1
        set e [new RandomVariable/Exponential]; $e set avg_ 0.01
        set f [new RandomVariable/ParetoII]; $f set avg_ 12; $f set shape_ 1.2
        $pool create-session $i 100000 [urand 0 10] $x $b $e $f
    }
}
proc stats {w} {
    global a st mon
    foreach k [array names a] { set st($w,$k) [$a($k) set ndatapack_] }
    set st($w,link) [list [$mon set parrivals_] [$mon set pdrops_] [$mon set bdepartures_]]
}
$ns at $opt(warm) "stats w"
proc fin {} {
    global st opt
    stats e
    set h [expr $opt(dur)-$opt(warm)]
    foreach {kind seg} {tcp 960 tfrc 968} {
        set p 0
        for {set i 0} {$i < $opt(n)} {incr i} { incr p [expr $st(e,$kind,$i)-$st(w,$kind,$i)] }
        out ${kind}_bps [expr $p*$seg*8.0/$h/$opt(n)]
    }
    foreach {a0 d0 b0} $st(w,link) {a1 d1 b1} $st(e,link) {}
    out drop [expr double($d1-$d0)/($a1-$a0)]
    out util [expr ($b1-$b0)*8.0/$h/15e6]
}
timed_run $ns $opt(dur) fin
