from mix import as_published_and_in_buffers, host_pairs, mixed

from tfrc.lab import Emulation, ratio

table = host_pairs(
    "Table 12",
    "Drop and send rates: drop-tail queues in packets",
    # From 800 sessions on 30 seeds leave cells open that a hundred may close.
    ns2_seeds=100,
    # The kernel's Reno with selective acknowledgements, with light, middle and heavy web traffic.
    emulation=Emulation(runs=2, rows=["10/2", "50/10", "200/40"], only=["named"]),
)
as_published_and_in_buffers(table)
# Web traffic that makes the drop rates printed for 1600 sessions, about a third.
twice = {"set": ["flow.web*.web.sessions=640"], "keys": {}, "rows": ["1600/320"]}
mixed(table, "congested", "congested_tcp", "congested_tfrc", **twice)

table.claim("Both kinds see similar drop rates: 50 sessions")(
    ratio("50/10", "tfrc_sp_200B_drop_rate", "tcp_1460B_drop_rate"), between=(0.75, 1.33)
)
table.claim("and 400 sessions")(
    ratio("400/80", "tfrc_sp_200B_drop_rate", "tcp_1460B_drop_rate"), between=(0.75, 1.33)
)
table.claim("At 10 sessions TFRC-SP is held back by its application alone")(
    lambda t: t["10/2", "tfrc_sp_200B_send_Kbps"], between=(175, 186)
)
table.claim(
    "TFRC-SP gets more than TCP at drop rates of 25 % and more: "
    "at those printed for 1600 sessions, 37 and 33 %"
)(
    ratio("1600/320", "congested_tfrc_send_Kbps", "congested_tcp_send_Kbps"),
    between=(1.2, 30),
    evidence="twice the sessions, which make the drop rates printed; §B.3: 'higher throughput than the TCP "
    "flows with packet drop rates of 25% or higher'",
)
table.claim("where the drop rate of TCP is that of the print")(
    lambda t: t["1600/320", "congested_tcp_drop_rate"], between=(0.3, 0.44), evidence="print 0.37"
)
table.claim("and with 1600 sessions, where those of our web traffic are 26 and 27 %")(
    ratio("1600/320", "tfrc_sp_200B_send_Kbps", "tcp_1460B_send_Kbps"),
    between=(1.2, 30),
    evidence="row 1600, the same sentence",
)
table.claim(
    "In fixed buffers TCP loses more packets than TFRC-SP, as it takes three of them for each: 200 sessions"
)(ratio("200/40", "buffers_tcp_drop_rate", "buffers_tfrc_drop_rate"), between=(1.3, 12))
lines = [f"link.{line}.rate=100Mbit/s" for i in range(1, 6) for line in (f"s{i}-left", f"right-d{i}")]
table.variant(
    "access lines of 100 Mbit/s",
    "assumed: link.s*-left.rate, link.right-d*.rate",
    lines,
    rows=["50/10", "200/40"],
    only=["named"],
)
