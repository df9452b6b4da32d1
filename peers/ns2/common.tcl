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
