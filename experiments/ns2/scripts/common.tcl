# What every script here shares: arguments of the form name=value, seeds, and results as lines "R name value" on
# standard error (ns-2 buffers its own standard output apart from Tcl's, and the two would mix).
remove-all-packet-headers
add-packet-header Flags IP TCP TFRC TFRC_ACK RTP

proc parse_args {defaults} {
    global opt argv
    foreach {k v} $defaults { set opt($k) $v }
    foreach a $argv {
        set i [string first "=" $a]
        if {$i < 0} { error "not name=value: $a" }
        set opt([string range $a 0 [expr $i-1]]) [string range $a [expr $i+1] end]
    }
}
proc out {k v} { puts stderr "R $k $v" }
proc seed_all {s} {
    global defaultRNG
    $defaultRNG seed [expr 1000 + 7919*$s]
}
proc urand {a b} {
    global defaultRNG
    return [expr $a + ($b-$a)*[$defaultRNG uniform 0 1]]
}
# Class defaults, as in "Agent/TFRC:df_:0.5,Queue/RED:limit_:3".
proc apply_overrides {s} {
    if {$s == "" || $s == "-"} return
    foreach item [split $s ","] {
        set i [string last ":" $item]
        set val [string range $item [expr $i+1] end]
        set rest [string range $item 0 [expr $i-1]]
        set j [string last ":" $rest]
        [string range $rest 0 [expr $j-1]] set [string range $rest [expr $j+1] end] $val
    }
}
# RED that counts packets or, in byte mode, bytes; with thresholds of its own (adaptive) or these.
proc red_defaults {mode pkt minth maxth} {
    Queue/RED set bytes_ [expr {$mode == "byte"}]
    Queue/RED set queue_in_bytes_ [expr {$mode == "byte"}]
    Queue/RED set mean_pktsize_ $pkt
    if {$mode == "adaptive"} {
        Queue/RED set adaptive_ 1
    } else {
        Queue/RED set thresh_ $minth
        Queue/RED set maxthresh_ $maxth
        Queue/RED set q_weight_ 0.002
    }
}
proc timed_run {ns stop fin} {
    $ns at $stop "finish_run $fin"
    $ns run
}
proc finish_run {fin} {
    $fin
    exit 0
}
# A bulk transfer; the sink of delayed acknowledgements waits for 100 ms at most.
proc mk_tcp {ns src dst fid kind seg {delack 0}} {
    if {$kind == "sack"} {
        set sink [expr {$delack ? "TCPSink/Sack1/DelAck" : "TCPSink/Sack1"}]
    } else {
        set sink [expr {$delack ? "TCPSink/DelAck" : "TCPSink"}]
    }
    array set class {sack TCP/Sack1 reno TCP/Reno newreno TCP/Newreno tahoe TCP}
    set t [$ns create-connection $class($kind) $src $sink $dst $fid]
    $t set packetSize_ $seg
    return $t
}
# TCP with ns-2's defaults of early 2000, by its change log, and 1000-byte packets: what the scripts of the SIGCOMM 2000 report leave.
proc tcp_of_2000 {} {
    foreach {name value} {minrto_ 0 rfc2988_ false tcpTick_ 0.1 windowInit_ 1 singledup_ 0 syn_ false delay_growth_ false
        precisionReduce_ false rtxcur_init_ 6.0 maxrto_ 100000 timerfix_ false updated_rttvar_ false exitFastRetrans_ false
        useHeaders_ false window_ 10000} {
        Agent/TCP set $name $value
    }
}
# Counts of packets, one each step, as packets in consecutive stretches of so many steps; what is left over is left out.
proc stretches {counts steps} {
    set l {}
    for {set k $steps} {$k < [llength $counts]} {incr k $steps} {
        lappend l [expr {[lindex $counts $k] - [lindex $counts [expr {$k-$steps}]]}]
    }
    return $l
}
# The coefficient of variation of a list.
proc variation {l} {
    set n [llength $l]; set s 0.0; set q 0.0
    foreach x $l { set s [expr {$s+$x}]; set q [expr {$q+$x*$x}] }
    if {$s == 0} { return 0.0 }
    set m [expr {$s/$n}]
    set v [expr {$q/$n-$m*$m}]
    return [expr {($v > 0 ? sqrt($v) : 0.0)/$m}]
}
# The equivalence ratio of two lists: the mean of the smaller over the larger, where either is above zero.
proc equivalence {l m} {
    set n 0; set s 0.0
    foreach x $l y $m {
        if {$x == 0 && $y == 0} continue
        set s [expr {$s + ($x < $y ? double($x)/$y : double($y)/$x)}]; incr n
    }
    return [expr {$n > 0 ? $s/$n : 0}]
}
proc mean {l} {
    set s 0.0
    foreach x $l { set s [expr {$s+$x}] }
    return [expr {$s/[llength $l]}]
}
