from mix import RED_IN_BYTES, as_published_and_in_buffers, gentle, host_pairs

from tfrc.lab import ratio

table = host_pairs("Table 18", "Drop and send rates: RED in byte mode, 1460-byte TCP", set=RED_IN_BYTES)
as_published_and_in_buffers(table)

table.claim("The drop rates of TCP are 1.5 to 4 times those of TFRC-SP: 10 sessions")(
    ratio("10/2", "tcp_1460B_drop_rate", "tfrc_sp_200B_drop_rate"), between=(1.5, 4.0)
)
table.claim("With 400 sessions and more it gets far more than TCP")(
    ratio("400/80", "tfrc_sp_200B_send_Kbps", "tcp_1460B_send_Kbps"), between=(5, 1500)
)
table.claim("and 200 sessions")(
    ratio("200/40", "tcp_1460B_drop_rate", "tfrc_sp_200B_drop_rate"),
    between=(1.5, 4.0),
    evidence="row 200; §B.4: 1 1/2 to four times",
)
gentle(table)
