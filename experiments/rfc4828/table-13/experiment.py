from mix import IN_BYTES, as_published_and_in_buffers, host_pairs

from tfrc.lab import ratio

table = host_pairs("Table 13", "Drop and send rates: drop-tail queues in bytes, 1460-byte TCP", set=IN_BYTES)
as_published_and_in_buffers(table)

table.claim("TFRC-SP sees much smaller drop rates than TCP: 50 sessions")(
    ratio("50/10", "tcp_1460B_drop_rate", "tfrc_sp_200B_drop_rate"), between=(5, 20)
)
table.claim(
    "A drop-tail queue in bytes starves large-packet TCP: "
    "at 800 sessions TFRC-SP has some hundred times its rate"
)(
    ratio("800/160", "tfrc_sp_200B_send_Kbps", "tcp_1460B_send_Kbps"),
    between=(100, 500),
    evidence="row 800; the RFC: more than 100 times",
)
table.claim("though TFRC-SP itself slows down when congestion is heavy")(
    lambda t: t["1600/320", "tfrc_sp_200B_send_Kbps"] / t["10/2", "tfrc_sp_200B_send_Kbps"],
    between=(0.2, 0.5),
)
table.claim("Fixed buffers are between bytes and packets: with 50 sessions TCP has more than here")(
    ratio("50/10", "buffers_tcp_send_Kbps", "tcp_1460B_send_Kbps"), between=(1.1, 6)
)
