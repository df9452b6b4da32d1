from losses import other_round_trips, segment_sizes, tcp

from tfrc.lab import Quick, ratio

table = segment_sizes(
    "Table 6",
    "TCP's rate against its segment size, 0.1% of bytes dropped",
    set=["link.path.loss.bernoulli_per_byte=0.1%"],
    quick=Quick(3, rows=["14B/10", "128B/10", "1460B/100", "8000B/100"]),
)
table.run(tcp)
FEW_ARRIVE = ["512B/100", "1460B/100"]
table.columns("packet_drop_rate", band="drop")
table.columns("tcp_send_Kbps", ns2_only_rows=[*FEW_ARRIVE, "4000B/100", "8000B/100"])
table.columns("tcp_goodput_Kbps", ns2_only_rows=FEW_ARRIVE)

table.claim("TCP gets faster up to 128 bytes")(
    lambda t: t["128B/10", "tcp_send_Kbps"] / t["14B/10", "tcp_send_Kbps"], between=(3, 7)
)
table.claim("slower after that: 512 against 128 bytes")(
    lambda t: t["512B/100", "tcp_send_Kbps"] / t["128B/10", "tcp_send_Kbps"], between=(0.1, 0.5)
)
table.claim("and sends more again with segments that hardly ever arrive: 8000 against 1460")(
    lambda t: t["8000B/100", "tcp_send_Kbps"] / t["1460B/100", "tcp_send_Kbps"], between=(1.8, 5)
)
table.claim("of which next to nothing arrives")(
    ratio("8000B/100", "tcp_goodput_Kbps", "tcp_send_Kbps"), between=(0, 0.03)
)
table.claim("With 128 bytes about 16 % of the packets are dropped")(
    lambda t: t["128B/10", "packet_drop_rate"], between=(0.145, 0.175)
)
other_round_trips(table)
