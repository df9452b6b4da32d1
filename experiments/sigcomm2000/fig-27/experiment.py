from paper import SCRIPTS, vary
from queues import queue_figure, traces

CASE = "40 flows"
figure = queue_figure(
    f"Figure 27; the numbers from its Figure 25; {SCRIPTS}", "Queue with forty long-lived flows, RED"
)
traces(figure, {"RED_TCP": "RED: TCP flows", "RED_TFRC": "RED: TFRC flows"})

figure.claim(
    "The mean queue of RED with TFRC is about that with TCP",
    lambda t: t[CASE, "RED_TFRC_mean_queue"] / t[CASE, "RED_TCP_mean_queue"],
    between=(0.6, 1.7),
)
figure.claim(
    "With RED the queue is neither empty nor full on the average",
    lambda t: t[CASE, "RED_TFRC_mean_queue"] / 250,
    between=(0.06, 0.5),
)
vary(figure, "ns2-rules", only=["RED_TFRC"], runs=5)
