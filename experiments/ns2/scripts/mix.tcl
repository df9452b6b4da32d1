# n SACK TCPs and n TFRC flows through one RED queue, each with hosts of its own, for the experiments rhee-xu/figure-06 to
# figure-11 (a small probe beside them) and sigcomm2000/fig-09 and fig-10 (time scales).
# L: loss intervals of TFRC; losses=1: the receiver of the first TFRC flow prints its loss intervals at each report
# scales: time scales in seconds at which sending rates are compared; year=2000: TCP with the defaults of early 2000
source [file join [file dirname [info script]] common.tcl]
parse_args {n 16 bw 15 bdelay 10 qlen 100 minth 10 maxth 50 rttlo 80 rtthi 120 dur 150 warm 50 start 10 seed 1 win 5000
    year 2010 tcpminrto 0.2 overhead 0 tfrcminrto 0 tfrctick 0.1 L -1 losses 0 probe 0 scales - overrides -}
seed_all $opt(seed)
Agent/TCP set window_ $opt(win)
Agent/TCP set minrto_ $opt(tcpminrto)
if {$opt(year) == 2000} { tcp_of_2000 }
Agent/TCP set overhead_ $opt(overhead)
Agent/TFRC set packetSize_ 968
Agent/TFRC set minrto_ $opt(tfrcminrto)
Agent/TFRC set tcp_tick_ $opt(tfrctick)
Agent/TFRCSink set NumSamples_ $opt(L)
red_defaults pkt 1000 $opt(minth) $opt(maxth)
apply_overrides $opt(overrides)
set ns [new Simulator]
set r1 [$ns node]; set r2 [$ns node]
$ns simplex-link $r1 $r2 $opt(bw)Mb $opt(bdelay)ms RED
$ns simplex-link $r2 $r1 $opt(bw)Mb $opt(bdelay)ms DropTail
$ns queue-limit $r1 $r2 $opt(qlen); $ns queue-limit $r2 $r1 $opt(qlen)
set fmon [$ns makeflowmon Fid]
$ns attach-fmon [$ns link $r1 $r2] $fmon
proc pair {} {
    global ns r1 r2 opt
    set ad [expr {([urand $opt(rttlo) $opt(rtthi)]/2.0-$opt(bdelay))/2.0}]
    set s [$ns node]; set d [$ns node]
    $ns duplex-link $s $r1 100Mb ${ad}ms DropTail
    $ns duplex-link $r2 $d 100Mb ${ad}ms DropTail
    foreach p [list [list $s $r1] [list $r1 $s] [list $r2 $d] [list $d $r2]] { $ns queue-limit [lindex $p 0] [lindex $p 1] 20000 }
    return [list $s $d]
}
for {set i 0} {$i < $opt(n)} {incr i} {
    lassign [pair] s d
    set a(tcp,$i) [mk_tcp $ns $s $d $i sack [expr {$opt(year) == 2000 ? 1000 : 960}]]
    set f [$a(tcp,$i) attach-app FTP]
    $ns at [urand 0 $opt(start)] "$f start"
}
for {set i 0} {$i < $opt(n)} {incr i} {
    lassign [pair] s d
    lassign [$ns create-connection-list TFRC $s TFRCSink $d [expr {1000+$i}]] a(tfrc,$i) sink
    if {$i == 0} { $sink set printLoss_ $opt(losses) }
    $ns at [urand 0 $opt(start)] "$a(tfrc,$i) start"
}
if {$opt(probe)} {
    lassign [pair] s d
    set u [new Agent/UDP]; $u set fid_ 9000; $ns attach-agent $s $u
    set z [new Agent/Null]; $ns attach-agent $d $z; $ns connect $u $z
    set c [new Application/Traffic/CBR]; $c set packetSize_ 40; $c set interval_ 0.05; $c set random_ 1; $c attach-agent $u
    $ns at 1.0 "$c start"
}
# The packets sent by the first four flows of each kind, each 0.1 s.
proc sample {} {
    global a opt ns bins
    foreach kind {tcp tfrc} {
        for {set i 0} {$i < $opt(n) && $i < 4} {incr i} { lappend bins($kind,$i) [$a($kind,$i) set ndatapack_] }
    }
    $ns at [expr {[$ns now]+0.1}] sample
}
proc stats {w} {
    global a st fmon opt
    foreach k [array names a] { set st($w,$k) [$a($k) set ndatapack_] }
    set st($w,cuts) 0
    for {set i 0} {$i < $opt(n)} {incr i} { incr st($w,cuts) [$a(tcp,$i) set ncwndcuts_] }
    set st($w,link) [list [$fmon set parrivals_] [$fmon set pdrops_] [$fmon set bdepartures_]]
    set f [[$fmon classifier] lookup auto 0 0 9000]
    set st($w,probe) [expr {$f == "" ? {0 0} : [list [$f set parrivals_] [$f set pdrops_]]}]
}
$ns at $opt(warm) "stats w"
if {$opt(scales) != "-"} { $ns at $opt(warm) sample }
proc fin {} {
    global st opt bins
    stats e
    set h [expr {double($opt(dur)-$opt(warm))}]
    foreach kind {tcp tfrc} {
        set sent($kind) 0
        for {set i 0} {$i < $opt(n)} {incr i} { incr sent($kind) [expr {$st(e,$kind,$i)-$st(w,$kind,$i)}] }
        set rate($kind) [expr {$sent($kind)*8.0/$h/$opt(n)}]
        out ${kind}_Kbps $rate($kind)
    }
    out tcp_over_tfrc [expr {$rate(tcp)/$rate(tfrc)}]
    out p_tcp [expr {double($st(e,cuts)-$st(w,cuts))/$sent(tcp)}]
    lassign $st(w,link) a0 d0 b0; lassign $st(e,link) a1 d1 b1
    out drop_rate [expr {double($d1-$d0)/($a1-$a0)}]
    out utilization [expr {($b1-$b0)*8.0/$h/($opt(bw)*1e6)}]
    if {$opt(probe)} {
        lassign $st(w,probe) a0 d0; lassign $st(e,probe) a1 d1
        out probe_loss [expr {double($d1-$d0)/($a1-$a0)}]
    }
    if {$opt(scales) == "-"} return
    foreach scale [split $opt(scales) ","] {
        set steps [expr {int($scale*10+0.5)}]
        foreach kind {tcp tfrc} {
            set c {}; set l($kind) {}
            for {set i 0} {[info exists bins($kind,$i)]} {incr i} {
                set s [stretches $bins($kind,$i) $steps]
                lappend l($kind) $s
                lappend c [variation $s]
            }
            out ${kind}_cov_${scale}s [mean $c]
        }
        foreach {x y} {tcp tcp tfrc tfrc tfrc tcp} {
            set e {}; set i 0
            foreach p $l($x) {
                set j 0
                foreach q $l($y) {
                    if {$x != $y || $i < $j} { lappend e [equivalence $p $q] }
                    incr j
                }
                incr i
            }
            out ${x}_${y}_${scale}s [mean $e]
        }
    }
}
timed_run $ns $opt(dur) fin
