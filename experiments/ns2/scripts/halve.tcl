# One TFRC flow whose tenth packet is dropped and then every n-th, from CHANGE seconds on every second: its rate every 2 ms
# (../../sigcomm2000/fig-20, fig-21). Usage: ns halve.tcl N CHANGE STOP
lassign $argv n change stop
set ns [new Simulator]
foreach name {sender near far receiver} { set $name [$ns node] }
$ns duplex-link $sender $near 100Mb 10ms DropTail
$ns duplex-link $near $far 15Mb 20ms DropTail
$ns duplex-link $far $receiver 100Mb 10ms DropTail
$ns queue-limit $near $far 250
Agent/TFRC set useHeaders_ false
Agent/TFRC set packetSize_ 1000
set flow [$ns create-connection TFRC $sender TFRCSink $receiver 0]
set losses [new ErrorModel/Periodic]
$losses unit pkt
$losses set offset_ 10
$losses set period_ $n
$losses drop-target [new Agent/Null]
$ns lossmodel $losses $near $far
$ns at $change "$losses set period_ 2"
$ns at 0 "$flow start"
proc look {} {
    global ns flow
    puts "[$ns now] [$flow set rate_]"
    $ns at [expr {[$ns now] + 0.002}] look
}
$ns at 0.001 look
$ns at $stop "exit 0"
$ns run
