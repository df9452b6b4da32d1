# n TCP and n TFRC flows through one bottleneck, each with hosts of its own and a base round-trip time from 80 to 120 ms.
# intervals=1: from the end of the warm-up on the receiver of the first TFRC flow prints its loss intervals at each report.
# q: droptail, or red with mode pkt (gentle, fixed thresholds), byte (byte mode) or adaptive (thresholds of its own)
source [file join [file dirname [info script]] common.tcl]
parse_args {bw 15 ntcp 16 ntfrc 16 q droptail mode pkt qlen 100 minth 10 maxth 50 dur 120 warm 40 seed 1 pkt 1000 tcp sack
    win 5000 start 10 intervals 0 overrides - rttlo 80 rtthi 120}
seed_all $opt(seed)
Agent/TCP set window_ $opt(win)
Agent/TFRC set packetSize_ [expr $opt(pkt)-32]
red_defaults $opt(mode) $opt(pkt) $opt(minth) $opt(maxth)
apply_overrides $opt(overrides)
set ns [new Simulator]
set r1 [$ns node]; set r2 [$ns node]
$ns duplex-link $r1 $r2 $opt(bw)Mb 10ms [expr {$opt(q) == "red" ? "RED" : "DropTail"}]
$ns queue-limit $r1 $r2 $opt(qlen); $ns queue-limit $r2 $r1 $opt(qlen)
set mon [$ns monitor-queue $r1 $r2 ""]
set integrator [$mon get-pkts-integrator]
proc pair {} {
    global ns r1 r2 opt
    set s [$ns node]; set d [$ns node]
    $ns duplex-link $s $r1 100Mb [expr [urand $opt(rttlo) $opt(rtthi)]/2.0-10]ms DropTail
    $ns duplex-link $r2 $d 100Mb 0ms DropTail
    foreach p [list [list $s $r1] [list $r1 $s] [list $r2 $d] [list $d $r2]] { $ns queue-limit [lindex $p 0] [lindex $p 1] 20000 }
    return [list $s $d]
}
for {set i 0} {$i < $opt(ntcp)} {incr i} {
    set p [pair]
    set a(tcp,$i) [mk_tcp $ns [lindex $p 0] [lindex $p 1] $i $opt(tcp) [expr $opt(pkt)-40]]
    set f [$a(tcp,$i) attach-app FTP]
    $ns at [urand 0 $opt(start)] "$f start"
}
for {set i 0} {$i < $opt(ntfrc)} {incr i} {
    set p [pair]
    set pr [$ns create-connection-list TFRC [lindex $p 0] TFRCSink [lindex $p 1] [expr 1000+$i]]
    set a(tfrc,$i) [lindex $pr 0]
    if {$opt(intervals) && $i == 0} { $ns at $opt(warm) "[lindex $pr 1] set printLoss_ 1" }
    $ns at [urand 0 $opt(start)] "$a(tfrc,$i) start"
}
proc sample {} {
    global a opt ns bins
    foreach k [array names a] { lappend bins($k) [$a($k) set ndatapack_] }
    $ns at [expr [$ns now]+0.2] sample
}
proc stats {w} {
    global a st mon integrator ns
    foreach k [array names a] {
        set st($w,$k) [$a($k) set ndatapack_]
        set st($w,cuts,$k) [expr {[string match tcp* $k] ? [$a($k) set ncwndcuts_] : 0}]
    }
    # The integral is only brought up to date by arrivals and departures, which are dense here.
    set st($w,link) [list [$mon set parrivals_] [$mon set pdrops_] [$mon set bdepartures_] [$integrator set sum_]]
}
$ns at $opt(warm) "stats w; sample"
# Coefficient of variation of the differences of a list.
proc cov {l} {
    set n 0; set s 0.0; set q 0.0
    for {set k 1} {$k < [llength $l]} {incr k} {
        set x [expr [lindex $l $k]-[lindex $l [expr $k-1]]]
        set s [expr $s+$x]; set q [expr $q+$x*$x]; incr n
    }
    if {$s == 0} { return 0.0 }
    set m [expr $s/$n]
    set v [expr $q/$n-$m*$m]
    return [expr ($v > 0 ? sqrt($v) : 0.0)/$m]
}
proc fin {} {
    global st opt bins a
    stats e
    set h [expr $opt(dur)-$opt(warm)]
    foreach {kind hdr} {tcp 40 tfrc 32} {
        set n $opt(n$kind)
        if {$n == 0} continue
        set p 0; set c 0; set v 0.0
        for {set i 0} {$i < $n} {incr i} {
            incr p [expr $st(e,$kind,$i)-$st(w,$kind,$i)]
            incr c [expr $st(e,cuts,$kind,$i)-$st(w,cuts,$kind,$i)]
            set v [expr $v+[cov $bins($kind,$i)]]
        }
        out ${kind}_bps [expr $p*($opt(pkt)-$hdr)*8.0/$h/$n]
        out ${kind}_cov [expr $v/$n]
        if {$kind == "tcp"} { out tcp_cuts_per_packet [expr double($c)/$p] }
    }
    foreach {a0 d0 b0 i0} $st(w,link) {a1 d1 b1 i1} $st(e,link) {}
    out drop [expr double($d1-$d0)/($a1-$a0)]
    out util [expr ($b1-$b0)*8.0/$h/($opt(bw)*1e6)]
    out queue [expr ($i1-$i0)/$h]
}
timed_run $ns $opt(dur) fin
