from paper import DRAFT, PROMISED

from tfrc.lab import Experiment, Quick

figure = Experiment(
    DRAFT,
    "§2 and §3.3; ICN 2006, abstract",
    "gTFRC, TFRC and TCP in one class: what lies beyond the promise is TCP-friendly",
    keys={"target": ["link.edge.marker.0.token_bucket.rate", "flow.gtfrc.guarantee"]},
    quick=Quick(4, rows=["500kbit/s", "3Mbit/s"]),
    # The draft is of 2006 and has no circuit breaker (RFC 8083, 2017); the rfc profile has the default, which
    # is on.
    profiles={
        "as-published": [
            "flow.gtfrc.tfrc.revision=ns2",
            "flow.gtfrc.tfrc.circuit_breaker=off",
            "flow.tfrc.tfrc.revision=ns2",
            "flow.tcp.tcp.settings=ns2",
            "flow.tcp.tcp.window=5000",
        ]
    },
)


@figure.run(set=[one.replace("*", "gtfrc") for one in PROMISED], keep=["looks"])
def sim(run):
    [(_, allowed)] = run.states("gtfrc", "allowed_bps", 50, 200)
    return {
        "gtfrc_Kbps": run.goodput("gtfrc", 50, 200) / 1000,
        "gtfrc_allowed_mean_Kbps": allowed.mean() / 1000,
        "gtfrc_allowed_least_Kbps": allowed.min() / 1000,
        "gtfrc_allowed_most_Kbps": allowed.max() / 1000,
        "gtfrc_loss_event_rate": run.over_time("gtfrc", "p", 50, 200),
        "tfrc_loss_event_rate": run.over_time("tfrc", "p", 50, 200),
        "tfrc_Kbps": run.goodput("tfrc", 50, 200) / 1000,
        "tcp_Kbps": run.goodput("tcp", 50, 200) / 1000,
        "drop_rate": run.link("bottleneck", "drop_rate"),
        "utilisation": run.link("bottleneck", "utilization"),
    }


figure.columns("gtfrc_Kbps", "gtfrc_allowed_mean_Kbps", "gtfrc_allowed_least_Kbps", "gtfrc_allowed_most_Kbps")
figure.columns("gtfrc_loss_event_rate", "tfrc_loss_event_rate", band="drop")
figure.columns("tfrc_Kbps", "tcp_Kbps")
figure.columns("drop_rate", band="drop")
figure.columns("utilisation", band="utilization")

figure.claim("A flow whose target is above its fair share gets at least its target")(
    lambda t: t["3Mbit/s", "gtfrc_Kbps"] / 3000,
    between=(0.99, 1.25),
    evidence="§2: G = max(g, X), which bounds the rate from below alone; the upper edge is the target and a "
    "fair share more",
)
figure.claim("It takes no more beyond it than a TCP has")(
    lambda t: (t["3Mbit/s", "gtfrc_Kbps"] - 3000) / t["3Mbit/s", "tcp_Kbps"],
    between=(-0.05, 1.0),
    evidence="X is the rate of an ordinary TFRC flow: the promise and X do not add up",
)
figure.claim("TCP and TFRC share the rest evenly")(
    lambda t: t["3Mbit/s", "tfrc_Kbps"] / t["3Mbit/s", "tcp_Kbps"], between=(0.67, 1.5)
)
figure.claim(
    "With a target of half the fair share, what it sends beyond the promise is no more than a TCP has"
)(lambda t: (t["500kbit/s", "gtfrc_Kbps"] - 500) / t["500kbit/s", "tcp_Kbps"], between=(0.3, 1.25))
