from courses import one_stops
from paper import PAPER, rfc_tcp

from tfrc.lab import Experiment

CASE = "one stops"
figure = Experiment(
    PAPER,
    "Figure 22",
    "Two TCP flows, one of which stops: packets in 0.1 s",
    keys={"case": []},
    profiles={"rfc": [rfc_tcp("stays"), rfc_tcp("stops")]},
)
one_stops(figure)

figure.claim(
    "After the stop the TCP flow never sends much above the line's 18.75 packets in 0.1 s: "
    "21 at most (18.5 to 23.5)",
    lambda t: t[CASE, "peak"],
    between=(18.5, 23.5),
)
figure.claim("It takes over the line", lambda t: t[CASE, "after"], between=(16.9, 19))
figure.claim(
    "Before the stop it has about a half (7 to 12.5)", lambda t: t[CASE, "before"], between=(7, 12.5)
)
figure.claim(
    "Its rate goes up and down in steps of bursts: the deviation in 0.1 s is 1 to 5 packets (0.5 to 5)",
    lambda t: t[CASE, "deviation"],
    between=(0.5, 5),
)
