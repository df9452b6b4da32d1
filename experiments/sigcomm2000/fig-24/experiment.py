from paper import SCRIPTS, vary
from queues import queue_figure, traces

CASE = "4 flows"
figure = queue_figure(
    f"Figure 24; the numbers from its Figure 25; {SCRIPTS}", "Queue with four long-lived flows, drop-tail"
)
titles = {"DropTail_TCP": "Drop-tail: TCP flows", "DropTail_TFRC": "Drop-tail: TFRC flows"}
traces(figure, titles, ["link.bottleneck.queue=25p"])

figure.claim(
    "The mean queue of DropTail with TFRC is about that with TCP",
    lambda t: t[CASE, "DropTail_TFRC_mean_queue"] / t[CASE, "DropTail_TCP_mean_queue"],
    between=(0.6, 1.7),
)
figure.claim(
    "With DropTail the queue is long on the average",
    lambda t: t[CASE, "DropTail_TFRC_mean_queue"] / 25,
    between=(0.3, 0.95),
)
vary(figure, "ns2-rules", only=["DropTail_TFRC"], runs=5)
