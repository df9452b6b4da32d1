import statistics

from paper import QUEUE, TIMES, map_of, ratio_log2, through

from tfrc.lab import Quick

figure = map_of(
    "TFRC that chooses its friend by the shape of the queue's growth, next to SACK and CUBIC at once",
    keys={
        "rtt": ["link.bottleneck.delay"],
        "queue": [],
        "sacks": ["flow.sack.count"],
        "cubics": ["flow.cubic.count"],
        "room": [QUEUE],
        **TIMES,
    },
    runs=3,
    # Told that its friend is CUBIC, for comparison.
    rfc_runs=3,
    profiles={"as-published": ["flow.tfrc.tfrc.friend_choice=by-shape"]},
    quick=Quick(1, ["duration=60s", "warmup=20s"], ["50ms/1BDP/1/1/*"]),
)


def measure(run):
    tfrc, *tcps = (run.flow(name, "goodput_bps") for name in ("tfrc", "sack", "cubic"))
    return {
        "sack_log2": ratio_log2(run, "tfrc", "sack"),
        "cubic_log2": ratio_log2(run, "tfrc", "cubic"),
        # Shares of runs in which TFRC has at least half of the slower goodput, and at most twice the
        # faster one.
        "at_least": 2 * tfrc >= min(tcps),
        "at_most": tfrc <= 2 * max(tcps),
    }


for queue in ("drop-tail", "codel"):
    figure.run(measure, name=queue, **through(figure, queue))
figure.columns("sack_log2", "cubic_log2", "at_least", "at_most")

told = "explains: told that its friend is Reno"
figure.variant("told-reno", told, ["flow.tfrc.tfrc.friend=reno"], profile="rfc")

figure.claim("TFRC has at least half of the slower TCP's goodput in nine of ten rows")(
    lambda t: t.of("at_least", statistics.mean), between=(0.9, 1)
)
figure.claim("and at most twice the faster one's")(
    lambda t: t.of("at_most", statistics.mean), between=(0.9, 1)
)
