from mix import ADAPTIVE_RED, TCP_512B, as_published_and_in_buffers, host_pairs

from tfrc.lab import ratio

table = host_pairs(
    "Table 21", "Drop and send rates: adaptive RED in byte mode, 512-byte TCP", set=[*ADAPTIVE_RED, *TCP_512B]
)
as_published_and_in_buffers(table, segment=512)

table.claim("TFRC-SP still gets more than TCP: 200 sessions")(
    ratio("200/40", "tfrc_sp_200B_send_Kbps", "tcp_512B_send_Kbps"), between=(4, 40)
)
table.claim("at a lower drop rate, that of TCP being at most twice as high")(
    ratio("200/40", "tcp_512B_drop_rate", "tfrc_sp_200B_drop_rate"), between=(1.0, 2.0)
)
table.variant(
    "not adaptive, strict",
    "explains: the ratio of drop rates in print, at most two: so it is with a RED that does not adapt and "
    "drops everything above its upper threshold (Table 19, strict_)",
    [f"link.shared.queue.red.{setting}" for setting in ("adaptation=off", "above_max=drop", "forced=drop")],
    rows=["50/10", "200/40"],
    only=["named"],
)
