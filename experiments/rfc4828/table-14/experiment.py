from mix import IN_BYTES, TCP_512B, as_published_and_in_buffers, host_pairs

from tfrc.lab import ratio

table = host_pairs(
    "Table 14", "Drop and send rates: drop-tail queues in bytes, 512-byte TCP", set=[*IN_BYTES, *TCP_512B]
)
as_published_and_in_buffers(table, segment=512)

table.claim("With 512-byte segments TCP still sees higher drop rates: 200 sessions")(
    ratio("200/40", "tcp_512B_drop_rate", "tfrc_sp_200B_drop_rate"), between=(2, 6)
)
table.claim("and has considerably less: 400 sessions")(
    ratio("400/80", "tfrc_sp_200B_send_Kbps", "tcp_512B_send_Kbps"), between=(8, 60)
)
table.variant(
    "the way back with 1460 bytes",
    "assumed: flow.back.segment",
    ["flow.back.segment=1460B"],
    rows=["50/10", "200/40", "1600/320"],
    only=["named"],
)
