from losses import TFRC, TFRC_SP, drop_rates, limited, tcp_and_marked_tcp

from tfrc.lab import Quick, ratio

table = drop_rates(
    "Table 8",
    "Send rate against the packet drop rate, 14-byte segments",
    quick=Quick(3, rows=["0.1%/10", "10%/10", "40%/200"]),
)
tcp_and_marked_tcp(table)
limited(table, "tfrc_sp_14B_Kbps", 14, 50, TFRC_SP)
limited(table, "stnd_tfrc_14B_Kbps", 14, 50, TFRC)

rates = ["tcp_1460B_Kbps", "ecn_tcp_1460B_Kbps", "tfrc_sp_14B_Kbps", "stnd_tfrc_14B_Kbps"]
table.curves(*rates, xlabel="packets dropped", ylabel="rate of sending, kbit/s", log="xy")
table.claim("A 5.6 kbit/s TFRC-SP stream is not reduced until drop rates pass 20 %")(
    lambda t: t["20%/50", "tfrc_sp_14B_Kbps"] / t["0.1%/10", "tfrc_sp_14B_Kbps"], between=(0.95, 1.05)
)
table.claim("At 30 % it is reduced")(
    lambda t: t["30%/200", "tfrc_sp_14B_Kbps"] / t["0.1%/10", "tfrc_sp_14B_Kbps"], between=(0.35, 0.80)
)
table.claim(
    "Standard TFRC with such small packets gets a few per cent of what TCP gets at a drop rate of 10 %"
)(ratio("10%/10", "stnd_tfrc_14B_Kbps", "tcp_1460B_Kbps"), between=(0.02, 0.045))
for text, row, between in (
    ("At 30 % TFRC-SP has somewhat less than TCP", "30%/200", (0.3, 0.9)),
    ("At 40 % too", "40%/200", (0.3, 1.0)),
    ("At 50 % somewhat more", "50%/200", (1.0, 2.5)),
):
    value = ratio(row, "tfrc_sp_14B_Kbps", "tcp_1460B_Kbps")
    table.claim(text, value, between=between)
