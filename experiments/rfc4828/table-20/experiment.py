from mix import ADAPTIVE_RED, as_published_and_in_buffers, host_pairs, wider_thresholds

from tfrc.lab import ratio

table = host_pairs(
    "Table 20", "Drop and send rates: adaptive RED in byte mode, 1460-byte TCP", set=ADAPTIVE_RED
)
as_published_and_in_buffers(table)

table.claim("The drop rate of TFRC-SP is much lower than that of TCP: 50 sessions")(
    ratio("50/10", "tcp_1460B_drop_rate", "tfrc_sp_200B_drop_rate"), between=(2.2, 14)
)
table.claim("and its rate much higher: 400 sessions")(
    ratio("400/80", "tfrc_sp_200B_send_Kbps", "tcp_1460B_send_Kbps"), between=(50, 1000)
)
table.claim("Its congestion control is largely without effect: it keeps most of its rate at 1600 sessions")(
    lambda t: t["1600/320", "tfrc_sp_200B_send_Kbps"] / t["10/2", "tfrc_sp_200B_send_Kbps"],
    between=(0.65, 1.0),
)
wider_thresholds(table, "the printed rates of TCP are higher than ours with automatic thresholds")
