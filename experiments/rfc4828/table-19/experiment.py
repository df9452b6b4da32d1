from mix import RED_IN_BYTES, TCP_512B, as_published_and_in_buffers, gentle, host_pairs

from tfrc.lab import ratio

table = host_pairs(
    "Table 19", "Drop and send rates: RED in byte mode, 512-byte TCP", set=[*RED_IN_BYTES, *TCP_512B]
)
as_published_and_in_buffers(table, segment=512)

table.claim("The sending rate of TFRC-SP is more than TCP gets with 512 bytes: 200 sessions")(
    ratio("200/40", "tfrc_sp_200B_send_Kbps", "tcp_512B_send_Kbps"), between=(3, 40)
)
table.claim("The drop rates differ only moderately: 200 sessions")(
    ratio("200/40", "tcp_512B_drop_rate", "tfrc_sp_200B_drop_rate"), between=(1.0, 2.0)
)
gentle(table)
