from closed_form import HEADER, closed_form, equation, of_segments

from tfrc.lab import ratio

table = closed_form(
    "Table 1", "Response function of TCP and TFRC at packet drop rates", keys={"packet_drop_rate": []}
)


def rate(profile, segment, p):
    return equation(profile, segment + HEADER, p)


of_segments(table, "tcp_tfrc", rate)

table.claim("At one drop rate the rate is in proportion to the packet: 1500 bytes to 54")(
    ratio("0.01000", "tcp_tfrc_1460B_KBps", "tcp_tfrc_14B_KBps"), between=(27.7, 27.9)
)
table.claim("The core's own constants, which are not rounded, give the same within 0.1 %")(
    lambda t: t["0.10000", "tcp_tfrc_1460B_KBps"], between=(26.55, 26.61), profile="rfc"
)
