# A flow through N links of 1 Mbit/s, each crossed by one flow in each direction.
# c1, cross: tfrc or a TCP; buf: ns-2's limit, so that one packet fewer waits
source [file join [file dirname [info script]] common.tcl]
parse_args {N 5 c1 tfrc cross tfrc buf 12 dur 1000 warm 50 seed 1 pkt 1500 win 1000 delack 0 overrides -}
seed_all $opt(seed)
Agent/TCP set window_ $opt(win)
apply_overrides $opt(overrides)
set ns [new Simulator]
set N $opt(N)
for {set i 0} {$i <= $N} {incr i} { set R($i) [$ns node] }
for {set i 0} {$i < $N} {incr i} {
    set j [expr $i+1]
    $ns duplex-link $R($i) $R($j) 1Mb 10ms DropTail
    $ns queue-limit $R($i) $R($j) $opt(buf); $ns queue-limit $R($j) $R($i) $opt(buf)
}
proc access {r} {
    global ns
    set n [$ns node]
    $ns duplex-link $n $r 100Mb 10ms DropTail
    $ns queue-limit $n $r 10000; $ns queue-limit $r $n 10000
    return $n
}
# Packets are pkt bytes on the wire, whichever protocol.
proc flow {kind src dst fid start} {
    global ns opt
    if {$kind == "tfrc"} {
        set pr [$ns create-connection-list TFRC $src TFRCSink $dst $fid]
        [lindex $pr 0] set packetSize_ [expr $opt(pkt)-32]
        $ns at $start "[lindex $pr 0] start"
        return [list tfrc [lindex $pr 1]]
    }
    set t [mk_tcp $ns $src $dst $fid $kind [expr $opt(pkt)-40] $opt(delack)]
    set f [$t attach-app FTP]
    $ns at $start "$f start"
    return [list tcp $t]
}
set fl(through) [flow $opt(c1) [access $R(0)] [access $R($N)] 1 [urand 0 1]]
for {set h 0} {$h < $N} {incr h} {
    set fl(there-$h) [flow $opt(cross) [access $R($h)] [access $R([expr $h+1])] [expr 2*$h+2] [urand 0 1]]
    set fl(back-$h) [flow $opt(cross) [access $R([expr $h+1])] [access $R($h)] [expr 2*$h+3] [urand 0 1]]
}
# Bytes of payload that have arrived; TFRC's sink counts its headers.
proc good {x} {
    global opt
    if {[lindex $x 0] == "tfrc"} { return [expr [[lindex $x 1] set bytes_]*($opt(pkt)-32.0)/$opt(pkt)] }
    return [expr [[lindex $x 1] set ack_]*($opt(pkt)-40.0)]
}
proc stats {w} { global fl st; foreach k [array names fl] { set st($w,$k) [good $fl($k)] } }
$ns at $opt(warm) "stats w"
proc fin {} {
    global fl opt N st
    stats e
    set s [expr 8.0/($opt(dur)-$opt(warm))]
    set there 0.0
    for {set h 0} {$h < $N} {incr h} { set there [expr $there+($st(e,there-$h)-$st(w,there-$h))*$s] }
    out through_bps [expr ($st(e,through)-$st(w,through))*$s]
    out there_bps [expr $there/$N]
}
timed_run $ns $opt(dur) fin
