import statistics

from paper import BOTH_KINDS, PAIRS, PAPER, SCRIPTS, place, share, vary

from tfrc.lab import Experiment, Quick

figure = Experiment(
    PAPER,
    place(7, SCRIPTS),
    "Normalised throughput of TCP and TFRC at 15 Mbit/s with RED, against the number of flows",
    scenario="../pairs.toml",
    keys=PAIRS,
    quick=Quick(2, ["duration=60s"], ["1/*", "16/*", "48/*"]),
    profiles=BOTH_KINDS,
    rfc_runs=3,
)


@figure.run
def mix(run):
    return {
        "mean_TCP": share(run, "tcp", 15e6),
        "mean_TFRC": share(run, "tfrc", 15e6),
        "spread_TCP": run.spread("tcp", "goodput_bps"),
        "spread_TFRC": run.spread("tfrc", "goodput_bps"),
        "drop_rate": run.link("bottleneck", "drop_rate"),
        "utilization": run.link("bottleneck", "utilization"),
    }


figure.columns("mean_TCP", "mean_TFRC", read_off=0.005)
figure.columns("spread_TCP", "spread_TFRC", "drop_rate", "utilization")

figure.claim("The mean over all of TFRC lies near one")(
    lambda t: t.of("mean_TFRC", statistics.mean), between=(0.93, 1.2)
)
figure.claim("and that of TCP a little below")(
    lambda t: t.of("mean_TCP", statistics.mean), between=(0.8, 1.02)
)
figure.claim("The spread over TCP flows grows with their number")(
    lambda t: t["64/*", "spread_TCP"] / t["4/*", "spread_TCP"], between=(1.2, 12)
)
figure.claim("The spread over TFRC flows grows as well")(
    lambda t: t["64/*", "spread_TFRC"] / t["4/*", "spread_TFRC"], between=(1.1, 12)
)
figure.claim(
    "At 64 and more flows most lie between a half and one and a half: "
    "the standard deviation is at most half of the mean"
)(lambda t: t["32/*", "spread_TFRC"], between=(0, 0.5))

figure.variant(
    "tick-500ms",
    "explains: the clock of BSD, which the report names as what holds TCP back at small windows; "
    "a minimum of two ticks",
    ["flow.tcp.tcp.tick=500ms", "flow.tcp.tcp.min_rto=1s"],
    rows=["32/*", "64/*"],
)
vary(figure, "ns2-rules", rows=["8/*", "32/*", "64/*"])

# Means of both kinds in one drawing, as the report has them.
across = "TCP flows, beside as many TFRC flows"
figure.curves("mean_TCP", "mean_TFRC", xlabel=across, ylabel="normalised throughput")
