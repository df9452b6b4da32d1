from mix import (
    BOTH_WAYS, GENTLE, RED_IN_PACKETS, as_published_and_in_buffers, gentle, host_pairs, mixed, wider_thresholds,
)  # fmt: skip

from tfrc.lab import ratio

table = host_pairs("Table 17", "Drop and send rates: RED in packet mode", set=RED_IN_PACKETS)
as_published_and_in_buffers(table)
BYTES = "limit = '50kB ns2-red', measure = 'bytes', mode = 'packet', above_max = 'drop', forced = 'drop'"
ADAPTIVE = [f"{queue}.red.adaptation=ns2" for queue in BOTH_WAYS]
for name, red in (
    ("bytes", [f"link.shared.queue={{ red = {{ revision = 'ns2', {BYTES} }} }}"]),
    ("adaptive", [*ADAPTIVE, *GENTLE]),
):
    mixed(table, name, f"{name}_tcp", f"{name}_tfrc", set=red, rows=["50/10", "200/40"])

table.claim("Both kinds see similar drop rates: 50 sessions")(
    ratio("50/10", "tfrc_sp_200B_drop_rate", "tcp_1460B_drop_rate"), between=(0.8, 1.2)
)
table.claim("and 400 sessions")(
    ratio("400/80", "tfrc_sp_200B_drop_rate", "tcp_1460B_drop_rate"), between=(0.8, 1.2)
)
table.claim("TFRC-SP and TCP have rates of the same order: 200 sessions")(
    ratio("200/40", "tfrc_sp_200B_send_Kbps", "tcp_1460B_send_Kbps"), between=(0.6, 1.8)
)
table.claim("A queue in bytes makes no great difference: TFRC-SP over its rate here, 200 sessions")(
    ratio("200/40", "bytes_tfrc_send_Kbps", "tfrc_sp_200B_send_Kbps"), between=(0.7, 1.4)
)
table.claim("nor its drop rate over that of TCP")(
    ratio("200/40", "bytes_tfrc_drop_rate", "bytes_tcp_drop_rate"), between=(0.75, 1.25)
)
table.claim("Nor does adaptive RED")(
    ratio("200/40", "adaptive_tfrc_drop_rate", "adaptive_tcp_drop_rate"), between=(0.75, 1.25)
)
wider_thresholds(
    table, "the printed drop rates at few sessions are lower than ours with automatic thresholds"
)
gentle(table)
