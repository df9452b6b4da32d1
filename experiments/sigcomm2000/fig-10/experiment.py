from paper import SCRIPTS, mix, place, vary

figure = mix(place(10, SCRIPTS), "Coefficient of variation of the sending rate against the time scale")
FLOWS = {"TFRC": "tfrc", "TCP": "tcp", "one_TFRC": "tfrc-1", "one_TCP": "tcp-1"}


@figure.run(name="mix")
def variation(run):
    return {name: run.cov(flow, run.number("timescale_s")) for name, flow in FLOWS.items()}


figure.columns("TFRC", "TCP", read_off=0.005)
figure.columns("one_TFRC", "one_TCP")


def over_tcp(scale):
    """TFRC's variation over TCP's at a time scale."""
    return lambda t: t[scale, "TFRC"] / t[scale, "TCP"]


figure.claim("TFRC varies less than half as much as TCP at 0.2 s", over_tcp("0.2"), between=(0.3, 0.5))
figure.claim("and still less at 10 s", over_tcp("10"), between=(0.5, 0.95))
figure.claim("With the defaults of RFC 5348 TFRC is smoother than TCP at 0.2 s as well")(
    over_tcp("0.2"), between=(0.25, 0.6), profile="rfc"
)
vary(figure, "ns-2.35", "ns2-rules", "min-rto-1s", rows=["0.2", "10"], runs=4)

# Both kinds in one drawing, as the report has them.
figure.curves(
    "TFRC", "TCP", xlabel="time scale, s", ylabel="coefficient of variation", ylim=(0, 0.6), log="x"
)
