from closed_form import closed_form, of_segments, tfrc_sp

from tfrc.lab import ratio

table = closed_form(
    "Table 2", "Response function of TFRC-SP at packet drop rates", keys={"packet_drop_rate": []}
)
of_segments(table, "tfrc_sp", tfrc_sp)

table.claim(
    "Where 100 packets a second do not limit it, TFRC-SP has the rate of a TCP with 1460-byte segments "
    "whatever its own: 14 against 1460 bytes at 30 %"
)(ratio("0.30000", "tfrc_sp_14B_KBps", "tfrc_sp_1460B_KBps"), between=(0.999, 1.001))
table.claim("With 14 bytes it is at that limit up to 20 %")(
    lambda t: t["0.20000", "tfrc_sp_14B_KBps"] / t["0.00001", "tfrc_sp_14B_KBps"], between=(0.999, 1.001)
)
table.claim("The constants that are not rounded give the same within 0.2 %")(
    lambda t: t["0.10000", "tfrc_sp_1460B_KBps"], between=(26.53, 26.63), profile="rfc"
)
