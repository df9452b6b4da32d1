from losses import NS2_TCP, SACK, TFRC, TFRC_SP, drop_rates, limited, tcp_and_marked_tcp, wire_kbps

from tfrc.lab import Quick, ratio

table = drop_rates(
    "Table 9",
    "Send rate against the packet drop rate, 200-byte segments",
    quick=Quick(3, rows=["1%/10", "10%/10", "20%/50", "30%/200", "50%/200"]),
)
tcp_and_marked_tcp(table)
limited(table, "tfrc_sp_200B_Kbps", 200, 100, TFRC_SP)
limited(table, "stnd_tfrc_200B_Kbps", 200, 100, TFRC)
rows = ["1%/10", "10%/10", "20%/50"]
with_timestamps = [*SACK, "flow.flow.tcp.timestamps=on"]
table.run(name="timestamps", set=with_timestamps, profiles=NS2_TCP, rows=rows)(
    wire_kbps("tcp_with_timestamps", 1460, 40)
)
table.columns("tcp_with_timestamps", run="timestamps", rows=rows)

rates = ["tcp_1460B_Kbps", "ecn_tcp_1460B_Kbps", "tfrc_sp_200B_Kbps", "stnd_tfrc_200B_Kbps"]
table.curves(*rates, xlabel="packets dropped", ylabel="rate of sending, kbit/s", log="xy")
for row, p in (("10%/10", "10%"), ("20%/50", "20%"), ("30%/200", "30%")):
    table.claim(f"TFRC-SP with 200 bytes has about the rate of the large-packet TCP up to 30 %: at {p}")(
        ratio(row, "tfrc_sp_200B_Kbps", "tcp_1460B_Kbps"), between=(0.6, 1.8)
    )
for row, p, between in (("40%/200", "40%", (1.3, 4.5)), ("50%/200", "50%", (2.5, 12))):
    table.claim(f"Above that it gets more than TCP: at {p}")(
        ratio(row, "tfrc_sp_200B_Kbps", "tcp_1460B_Kbps"), between=between
    )
table.claim("Standard TFRC with 200 bytes gets about a seventh of the rate of TCP at 10 %")(
    ratio("10%/10", "stnd_tfrc_200B_Kbps", "tcp_1460B_Kbps"), between=(0.12, 0.2)
)
table.claim("Timestamps change little in TCP at 10 %")(
    ratio("10%/10", "tcp_with_timestamps", "tcp_1460B_Kbps"), between=(0.9, 1.15)
)
