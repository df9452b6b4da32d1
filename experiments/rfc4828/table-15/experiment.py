from mix import as_published_and_in_buffers, n_flows

from tfrc.lab import ratio

table = n_flows("Table 15", "Drop and send rates: drop-tail queues in bytes, N TCP and N TFRC-SP")
as_published_and_in_buffers(table)

table.claim("With N = 50 TCP is starved", lambda t: t["500/50", "tcp_1460B_send_Kbps"], between=(0.1, 1.0))
table.claim("while each TFRC-SP goes on with some 57 kbit/s")(
    lambda t: t["500/50", "tfrc_sp_200B_send_Kbps"], between=(45, 75)
)
table.claim("TCP falls behind from N = 5 on")(
    ratio("50/5", "tfrc_sp_200B_send_Kbps", "tcp_1460B_send_Kbps"), between=(1.5, 8)
)
