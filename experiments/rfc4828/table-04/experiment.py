from closed_form import HEADER, closed_form, of_segments, packet_drop_rate, tfrc_sp

from tfrc.lab import ratio

table = closed_form("Table 4", "Response function of TFRC-SP at byte drop rates", keys={"byte_drop_rate": []})


def rate(profile, segment, b):
    return tfrc_sp(profile, segment, packet_drop_rate(b, segment + HEADER))


of_segments(table, "tfrc_sp", rate)

table.claim(
    "At 0.001 a byte TFRC-SP with 14 bytes is far above TFRC and TCP at any size; "
    "above itself with 1460 bytes"
)(ratio("0.0010000", "tfrc_sp_14B_KBps", "tfrc_sp_1460B_KBps"), between=(30, 40))
table.claim("Up to 0.003 a byte it is at its 100 packets a second")(
    lambda t: t["0.0030000", "tfrc_sp_14B_KBps"] / t["0.0000001", "tfrc_sp_14B_KBps"], between=(0.999, 1.001)
)
