from courses import one_stops
from paper import PAPER, rfc_tfrc

from tfrc.lab import Experiment

CASE = "one stops"
figure = Experiment(
    PAPER,
    "Figure 23",
    "Two TFRC flows, one of which stops: packets in 0.1 s",
    keys={"case": []},
    profiles={"rfc": [rfc_tfrc("stays"), rfc_tfrc("stops")]},
)
one_stops(figure)

figure.claim(
    "After the stop the TFRC flow never sends much above the line's 18.75 packets in 0.1 s: "
    "20 at most (17.5 to 22.5)",
    lambda t: t[CASE, "peak"],
    between=(17.5, 22.5),
)
figure.claim("It takes over the line", lambda t: t[CASE, "after"], between=(16.9, 19))
figure.claim(
    "Before the stop it has about a half (7 to 12.5)", lambda t: t[CASE, "before"], between=(7, 12.5)
)
figure.claim(
    "It has grown to the line and levels off about 1.6 s (0.5 to 2.4) after the stop, "
    "as the queueing delay grows",
    lambda t: t[CASE, "rise_s"],
    between=(0.5, 2.4),
)
figure.claim(
    "It loses nothing until 4 s (2 to 8) after the stop", lambda t: t[CASE, "first_loss_s"], between=(2, 8)
)
figure.claim(
    "With the defaults of RFC 5348 it does not overshoot more",
    lambda t: t[CASE, "peak"],
    between=(17, 24),
    profile="rfc",
)
