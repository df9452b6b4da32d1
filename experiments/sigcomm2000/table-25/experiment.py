import numpy as np
from paper import SCRIPTS, vary
from queues import long_lived, queue_figure

FOUR, FORTY = "4/*", "40/*"
LINE = {
    "long_lived_flows": [],
    "link_rate": ["link.bottleneck.rate"],
    "short_flows_apart": ["flow.short.web.apart"],
}
QUEUES = {
    "RED": {
        "queue": ["link.bottleneck.queue.red.limit", "link.bottleneck.reverse.queue"],
        "red_min": ["link.bottleneck.queue.red.min"],
        "red_max": ["link.bottleneck.queue.red.max"],
    },
    "DropTail": {"queue": ["link.bottleneck.queue", "link.bottleneck.reverse.queue"]},
}


def keys(queue, kind):
    """The paths that each row sets at a queue, for flows of a kind in four groups."""
    groups = {
        f"{what}_{group}": [f"flow.{kind}-{group}.{what}"] for what in ("start", "rtt") for group in "abcd"
    }
    return {**LINE, **QUEUES[queue], "of_each_group": [f"flow.{kind}-*.count"], **groups}


figure = queue_figure(
    f"Figure 25 (a table); {SCRIPTS}",
    "Utilisation and drop rate of queues under long-lived TCP or TFRC flows and short transfers",
    keys=keys("RED", "tcp"),
)
for queue in QUEUES:
    for kind in ("TCP", "TFRC"):
        long_lived(figure, f"{queue}_{kind}", keys=keys(queue, kind.lower()))

figure.claim(
    "With 40 flows the link is used to 98 % and more by either (0.03 less, the band of a utilisation)"
)(
    lambda t: np.minimum(t[FORTY, "RED_TCP_utilization"], t[FORTY, "RED_TFRC_utilization"]),
    between=(0.95, 1.0),
)
figure.claim("With 4 flows TFRC uses it better than TCP, with RED")(
    lambda t: t[FOUR, "RED_TFRC_utilization"] - t[FOUR, "RED_TCP_utilization"], between=(0.005, 0.15)
)
figure.claim("and with DropTail")(
    lambda t: t[FOUR, "DropTail_TFRC_utilization"] - t[FOUR, "DropTail_TCP_utilization"],
    between=(0.005, 0.15),
)
figure.claim("With DropTail and 40 flows TFRC has fewer drops than TCP")(
    lambda t: t[FORTY, "DropTail_TFRC_drop_rate"] / t[FORTY, "DropTail_TCP_drop_rate"], between=(0.5, 0.97)
)
vary(figure, "random-starts", "from-20s", runs=5)
vary(figure, "no-reverse")
vary(figure, "ns2-rules", only=["RED_TFRC", "DropTail_TFRC"], runs=5)
