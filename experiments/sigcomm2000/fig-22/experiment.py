from courses import one_stops
from paper import rfc_tcp

figure = one_stops(22, "TCP", rfc_tcp, peak=(18.5, 21, 23.5))

figure.claim(
    "Its rate goes up and down in steps of bursts: the deviation in 0.1 s is 1 to 5 packets (0.5 to 5)"
)(lambda t: t["one stops", "deviation"], between=(0.5, 5))
