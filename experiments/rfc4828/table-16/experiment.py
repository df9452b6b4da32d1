from mix import NS2_TCP, NS2_TFRC, NS2_WEB, as_published_and_in_buffers, n_flows

from tfrc.lab import ratio

table = n_flows(
    "Table 16",
    "Drop and send rates: drop-tail queues in bytes, N TCP and N standard TFRC",
    set=["flow.tfrc.tfrc={ packet_size = 'own' }"],
    profiles={"as-published": [*NS2_TCP, *NS2_WEB, *NS2_TFRC]},
)
as_published_and_in_buffers(table, tfrc="stnd_tfrc_200B")

table.claim("With standard TFRC, TCP is not starved: N = 5")(
    ratio("50/5", "tcp_1460B_send_Kbps", "stnd_tfrc_200B_send_Kbps"), between=(0.8, 2.5)
)
table.claim("with fewer flows it is well ahead: N = 3")(
    ratio("30/3", "tcp_1460B_send_Kbps", "stnd_tfrc_200B_send_Kbps"), between=(1.5, 4)
)
table.claim("At drop rates of 30 % and more it has less than its share: N = 20")(
    ratio("200/20", "tcp_1460B_send_Kbps", "stnd_tfrc_200B_send_Kbps"), between=(0.02, 0.4)
)
