# Two TFRC flows over an assured-forwarding network: token buckets at the edge, RIO-C at 1 Mbit/s in the core.
# x, y: one-way delay in ms of the last link of flow 1 and 2; g1, g2: target rates in kbit/s (with or without unit)
# start: flows start within so many seconds; goodput=1: rates in the seconds before 20, 50 and 100 s and over the first 100 s
# floor: the rate is kept at the target or above it as gTFRC does: none, loss (from the first report of a loss on) or
# start (from the start on). ns-2 has no gTFRC.
# f1, f2: that rate in kbit/s if it is not the target; every: time between two looks at it, in seconds
source [file join [file dirname [info script]] common.tcl]
parse_args {x 300 y 0 g1 800 g2 200 dur 500 warm 50 seed 1 pkt 1000 cbs 10000 overrides - qw 0.002 start 1 floor none goodput 0 f1 - f2 - every 0.01}
foreach k {x y} { set opt($k) [string map {ms ""} $opt($k)] }
foreach k {g1 g2} { set opt($k) [string map {kbit/s ""} $opt($k)] }
seed_all $opt(seed)
Agent/TFRC set packetSize_ $opt(pkt)
Agent/TFRC set useHeaders_ false
apply_overrides $opt(overrides)
set ns [new Simulator]
foreach k {s1 s2 e1 core e2 r1 r2} { set $k [$ns node] }
$ns duplex-link $s1 $e1 10Mb 5ms DropTail
$ns duplex-link $s2 $e1 10Mb 5ms DropTail
$ns simplex-link $e1 $core 10Mb 5ms dsRED/edge
$ns simplex-link $core $e1 10Mb 5ms DropTail
$ns simplex-link $core $e2 1Mb 10ms dsRED/core
$ns simplex-link $e2 $core 1Mb 10ms DropTail
$ns duplex-link $e2 $r1 10Mb $opt(x)ms DropTail
$ns duplex-link $e2 $r2 10Mb $opt(y)ms DropTail
foreach {a b} {e1 core core e2} {
    $ns queue-limit [set $a] [set $b] 50
    set q [[$ns link [set $a] [set $b]] queue]
    $q meanPktSize $opt(pkt)
    $q set numQueues_ 1
    $q setNumPrec 2
    foreach {code prec} {10 0 11 1 12 0 13 1} { $q addPHBEntry $code 0 $prec }
    $q configQ 0 0 20 40 0.02 $opt(qw)
    $q configQ 0 1 10 20 0.10 $opt(qw)
    set qq($a,$b) $q
}
foreach i {1 2} {
    $qq(e1,core) addPolicyEntry [[set s$i] id] [[set r$i] id] TokenBucket [expr 8+2*$i] [expr $opt(g$i)*1000.0] $opt(cbs)
}
$qq(e1,core) addPolicerEntry TokenBucket 10 11
$qq(e1,core) addPolicerEntry TokenBucket 12 13
foreach i {1 2} {
    set pr [$ns create-connection-list TFRC [set s$i] TFRCSink [set r$i] $i]
    set tf($i) [lindex $pr 0]; set sk($i) [lindex $pr 1]
    $ns at [expr {$opt(start) > 0 ? [urand 0 $opt(start)] : 0}] "$tf($i) start"
}
proc floor_rates {} {
    global tf ns opt
    foreach i {1 2} {
        set least [expr {($opt(f$i) == "-" ? $opt(g$i) : $opt(f$i))*1000.0/8}]
        if {$opt(floor) == "loss" && [$tf($i) set true_loss_rate_] <= 0} continue
        if {[$tf($i) set rate_] < $least && [$tf($i) set ndatapack_] > 3} { $tf($i) set rate_ $least }
    }
    $ns at [expr {[$ns now]+$opt(every)}] floor_rates
}
if {$opt(floor) != "none"} { $ns at 0.1 floor_rates }
# Bytes received at the ends of the seconds that the draft prints.
if {$opt(goodput)} { foreach t {19 20 49 50 99 100} { if {$t < $opt(dur)} { $ns at $t "stats $t" } } }
proc stats {w} { global sk st; foreach i {1 2} { set st($w,$i) [$sk($i) set bytes_] } }
$ns at $opt(warm) "stats w"
proc fin {} {
    global st opt qq
    stats e
    if {$opt(goodput)} {
        set st(100,1) [expr {$opt(dur) == 100 ? $st(e,1) : $st(100,1)}]
        set st(100,2) [expr {$opt(dur) == 100 ? $st(e,2) : $st(100,2)}]
        foreach i {1 2} {
            foreach t {20 50 100} { out ${i}_after_${t}s_Kbps [expr {($st($t,$i)-$st([expr {$t-1}],$i))*8.0/1000}] }
            out ${i}_average_Kbps [expr {$st(100,$i)*8.0/100/1000}]
        }
        # Codepoints 10 and 12 are in profile, 11 and 13 out of it.
        set q $qq(e1,core)
        foreach {name in out} {1 10 11 2 12 13} {
            set inside($name) [$q getStat pkts $in]
            set all($name) [expr {$inside($name)+[$q getStat pkts $out]}]
            out ${name}_in_profile [expr {double($inside($name))/$all($name)}]
        }
        # Of each flow's packets in profile, the share that the core dropped, by chance or for want of room.
        foreach {name in} {1 10 2 12} {
            set lost [expr {[$qq(core,e2) getStat drops $in]+[$qq(core,e2) getStat edrops $in]}]
            out ${name}_lost_in [expr {double($lost)/$inside($name)}]
        }
        out in_profile [expr {double($inside(1)+$inside(2))/($all(1)+$all(2))}]
    }
    foreach i {1 2} { out flow${i}_bps [expr ($st(e,$i)-$st(w,$i))*8.0/($opt(dur)-$opt(warm))] }
}
timed_run $ns $opt(dur) fin
