import math

from paper import PAPER, equation

from tfrc.lab import Experiment, number

figure = Experiment(
    PAPER, "Fig. 13", "What the equation makes of the RTO: F(p; R, 4R) against F(p; R, 1 s)", keys={"p": []}
)


@figure.compute
def values(profile, rows, changes):
    # RFC 5348's timeout term, in the rfc profile, has no cap.
    most = 1.0 if profile == "as-published" else math.inf

    def ratio(p, rtt):
        return equation(rtt, p, 4 * rtt, most) / equation(rtt, p, 1.0, most)

    places = [(row, rtt) for row in rows for rtt in ("10ms", "500ms")]
    return {(row.name, f"ratio_{rtt}"): ratio(number(row.keys[0]), number(rtt)) for row, rtt in places}


printed = ["0.1%", "1%", "2%", "5%", "10%", "15%", "20%", "30%"]
figure.columns("ratio_10ms", "ratio_500ms", band="rate", against="published", rows=printed)

figure.claim("On a path of 10 ms TFRC's RTO gives about 18 times the rate at 15 % loss")(
    lambda t: t["15%", "ratio_10ms"], between=(17, 19)
)
figure.claim("and about 8.5 times at 5 %", lambda t: t["5%", "ratio_10ms"], between=(8, 9))
figure.claim("At 500 ms the rate is up to two times smaller, at high loss")(
    lambda t: 1 / t.of("ratio_500ms", min), between=(1.6, 2.1)
)
figure.claim("At low loss the RTO hardly matters: 0.1 % and 500 ms")(
    lambda t: t["0.1%", "ratio_500ms"], between=(0.97, 1.0)
)
figure.claim("The ratio grows with loss")(
    lambda t: t["15%", "ratio_10ms"] / t["1%", "ratio_10ms"], between=(3, 8)
)
