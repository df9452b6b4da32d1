from losses import other_round_trips, segment_sizes, tcp

from tfrc.lab import Quick, number

table = segment_sizes(
    "Table 5",
    "TCP's rate against its segment size, 0.01% of bytes dropped",
    quick=Quick(3, rows=["14B/10", "128B/10", "1460B/10", "8000B/100"]),
)
table.run(tcp)
table.columns("packet_drop_rate", band="drop")
table.columns("tcp_send_Kbps", "tcp_goodput_Kbps", ns2_only_rows=["4000B/100", "8000B/100"])



def fastest_segment(t):
    """The segment of the greatest rate, in bytes."""
    rates = t.column("tcp_send_Kbps")
    return number(max(rates, key=rates.get).partition("/")[0])


table.claim("TCP is fastest with segments of 1460 bytes", fastest_segment, between=(1460, 1460))
table.claim(
    "Up to there the rate grows less than the segment: from 14 to 512 bytes, 37 times, "
    "by about a quarter of that"
)(lambda t: t["512B/10", "tcp_send_Kbps"] / t["14B/10", "tcp_send_Kbps"], between=(6, 16))
table.claim("as its square root would, while few packets are dropped: from 128 to 512 bytes")(
    lambda t: t["512B/10", "tcp_send_Kbps"] / t["128B/10", "tcp_send_Kbps"], between=(1.6, 2.5)
)
table.claim("Larger segments make it slower: 4000 against 1460 bytes")(
    lambda t: t["4000B/100", "tcp_send_Kbps"] / t["1460B/10", "tcp_send_Kbps"], between=(0.25, 0.65)
)
table.claim("With 1460 bytes about 13 % of the packets are dropped")(
    lambda t: t["1460B/10", "packet_drop_rate"], between=(0.12, 0.15)
)
other_round_trips(table)
