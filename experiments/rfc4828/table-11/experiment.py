from closed_form import closed_form, packet_drop_rate

from tfrc.lab import number

table = closed_form(
    "Table 11", "Packet drop rates of TCP and TFRC at byte drop rates", keys={"byte_drop_rate": []}
)
COLUMNS = ("tcp_1460B_packet_drop_rate", "tfrc_14B_packet_drop_rate", "tcp_over_tfrc_packet_drop_ratio")


@table.compute
def drop_rates(_profile, rows, _changes):
    found = {}
    for row in rows:
        # Packets of 56 bytes, where Tables 1 to 4 have 54.
        tcp, tfrc = (packet_drop_rate(number(row.keys[0]), packet) for packet in (1500, 56))
        found.update({(row.name, column): value for column, value in zip(COLUMNS, (tcp, tfrc, tcp / tfrc))})
    return found


table.columns(*COLUMNS, read_off=0.005)

table.claim("At low byte drop rates the ratio is near 26.8, that of the sizes")(
    lambda t: t["0.00001", "tcp_over_tfrc_packet_drop_ratio"], between=(26, 26.8)
)
table.claim("At high ones it goes to 1")(
    lambda t: t["0.05", "tcp_over_tfrc_packet_drop_ratio"], between=(1.0, 1.1)
)
