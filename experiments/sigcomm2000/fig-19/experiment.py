from paper import ONE_FLOW, PAPER, RTT_S, place, vary

from tfrc.lab import Experiment, Quick

figure = Experiment(
    PAPER,
    place(19, "the authors' ns-2 script of Figures 20 and 21 (icir.org/tfrc/sims.html)"),
    "Growth of the allowed rate after the last loss",
    scenario="../drops.toml",
    # One packet in a hundred is lost until 10 s, none later; the mean over the phases of the drops is compared.
    set=[
        "link.path.loss={ periodic = [{ at = '0s', every = 100 }, { at = '10s', every = 1000000000 }] }",
        "flow.tfrc.start={ value = 'uniform 0s 400ms', assumed = 'the phase of the drops' }",
    ],
    keys={"time_s": []},
    quick=Quick(2, rows=["9.5", "11.17", "12.25", "13.001"]),
    profiles=ONE_FLOW,
    rfc_runs=10,
)


@figure.run(keep=["looks"])
def flow(run):
    def per_rtt(time):
        """The allowed rate in packets of 1000 bytes a round-trip time."""
        return run.state("tfrc", "allowed_bps", time) / 8000 * RTT_S

    now = run.number("time_s")
    return {
        "allowed_rate_pkts_per_rtt": per_rtt(now) - 11.3,
        "growth": (per_rtt(now + 0.567) - per_rtt(now)) / 7,
    }


figure.columns(
    "allowed_rate_pkts_per_rtt",
    read_off=0.05,
    uninformative=(
        lambda measured, published, ns2: published < 0.06,
        "a flow whose rate never grows agrees as well: the increment is within what can be read off",
    ),
)
figure.columns("growth")


def growth(start, end, rtts):
    """The growth between two times, which are `rtts` round-trip times apart, in each of them."""
    column = "allowed_rate_pkts_per_rtt"
    return lambda t: (t[end, column] - t[start, column]) / rtts


figure.claim("Until the mean of the closed intervals is passed the rate stands still")(
    growth("9.55", "10.57", 12.593), between=(-0.01, 0.04)
)
figure.claim(
    "Then it grows by 0.12 to 0.14 packets a round-trip time (0.10 to 0.16 as means over the phases)"
)(growth("10.92", "11.42", 6.173), between=(0.1, 0.16))
figure.claim("With history discounting by 0.22 to 0.29 (0.20 to 0.33)")(
    growth("11.92", "12.591", 8.284), between=(0.2, 0.33)
)
figure.claim("RFC 5348, whose discounts go down to 0.25 instead of 0.5, grows no slower")(
    growth("12.25", "12.921", 8.27), between=(0.2, 0.75), profile="rfc"
)

figure.variant(
    "one-phase",
    "assumed: flow.tfrc.start",
    [
        "flow.tfrc.start=0s",
        "link.path.loss=[{ scripted = [10] }, "
        "{ periodic = [{ at = '0.455s', every = 100 }, { at = '10s', every = 1000000000 }] }]",
    ],
    rows=["9.55", "10.57", "10.92", "11.42", "12.25"],
    runs=2,
)
figure.variant(
    "no-discounting",
    "explains: history discounting is what makes the growth rise",
    ["flow.tfrc.tfrc.discounting=off"],
    rows=["11.17", "12.25", "13.001"],
    runs=10,
)
vary(figure, "ns2-rules", rows=["10.57", "11.17", "12.25", "13.001"], runs=10)
vary(figure, "arrival-reports", rows=["10.57", "10.92", "11.42", "11.92", "12.591"], runs=10)
