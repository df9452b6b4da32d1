from paper import SCRIPTS, vary
from queues import queue_figure, traces

CASE = "4 flows"
figure = queue_figure(
    f"Figure 25; the numbers from its Figure 25; {SCRIPTS}", "Queue with four long-lived flows, RED"
)
traces(figure, {"RED_TCP": "RED: TCP flows", "RED_TFRC": "RED: TFRC flows"})

figure.claim(
    "The mean queue of RED with TFRC is about that with TCP",
    lambda t: t[CASE, "RED_TFRC_mean_queue"] / t[CASE, "RED_TCP_mean_queue"],
    between=(0.6, 1.7),
)
figure.claim(
    "With RED the queue is neither empty nor full on the average",
    lambda t: t[CASE, "RED_TFRC_mean_queue"] / 25,
    between=(0.06, 0.5),
)
vary(figure, "random-starts", "equal-rtts", runs=5)
vary(figure, "no-reverse")
vary(figure, "ns2-rules", only=["RED_TFRC"], runs=5)
