from paper import PAPER, place

from tfrc import Equation
from tfrc.lab import Experiment, number

figure = Experiment(
    PAPER,
    f"{place(5)}, equation (2)",
    "Loss event fraction against the loss probability",
    keys={"loss_probability": []},
    deterministic=True,
)
MULTIPLES = {"rate_x0.5": 0.5, "rate_x1.0": 1.0, "rate_x2.0": 2.0}


def packets(profile, p):
    """The packets in a round-trip time at the rate of the equation: the paper's (2), or the core's."""
    if profile == "rfc":
        return Equation().rate_bps(1.0, 1.0, p) / 8
    return 1 / ((2 * p / 3) ** 0.5 + 12 * (3 * p / 8) ** 0.5 * p * (1 + 32 * p**2))


@figure.compute
def values(profile, rows, changes):
    def fraction(p, multiple):
        n = multiple * packets(profile, p)
        return (1 - (1 - p) ** n) / n

    places = [(row, column) for row in rows for column in MULTIPLES]
    return {(row.name, at): fraction(number(row.keys[0]), MULTIPLES[at]) for row, at in places}


figure.columns(*MULTIPLES, read_off=0.0002)

figure.claim(
    "A flow at the rate of the equation has loss events within 10 % of its losses at moderate loss rates"
)(lambda t: t["0.0411", "rate_x1.0"] / 0.0411, between=(0.9, 1.0))
figure.claim("A flow at twice its rate has fewer loss events a packet than one at half of it")(
    lambda t: t["0.0411", "rate_x2.0"] / t["0.0411", "rate_x0.5"], between=(0.8, 0.98)
)

# Three rates in one drawing, as the report has them.
figure.curves(*MULTIPLES, xlabel="loss probability", ylabel="loss event fraction", log="")
