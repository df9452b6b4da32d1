from closed_form import HEADER, closed_form, equation, of_segments, packet_drop_rate

from tfrc.lab import ratio

table = closed_form(
    "Table 3", "Response function of TCP and TFRC at byte drop rates", keys={"byte_drop_rate": []}
)


def rate(profile, segment, b):
    packet = segment + HEADER
    return equation(profile, packet, packet_drop_rate(b, packet))


of_segments(table, "tcp_tfrc", rate)

table.claim("At high byte drop rates a TCP is faster with smaller packets: 14 against 1460 bytes at 0.001")(
    ratio("0.0010000", "tcp_tfrc_14B_KBps", "tcp_tfrc_1460B_KBps"), between=(11, 14)
)
table.claim("At low ones with larger")(
    ratio("0.0000010", "tcp_tfrc_1460B_KBps", "tcp_tfrc_14B_KBps"), between=(5, 5.5)
)
