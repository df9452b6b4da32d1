import numpy as np
from paper import SCRIPTS, place, vary
from queues import queue_figure, traces

CASE = "40 flows"
figure = queue_figure(
    place(14, SCRIPTS), "Queue of 40 long-lived TCP or TFRC flows with short transfers, drop-tail"
)
titles = {"TCP": "Drop-tail: TCP flows", "TFRC": "Drop-tail: TFRC flows"}
traces(figure, titles, ["link.bottleneck.queue=250p"])

figure.claim("Both use the line to 99 %")(
    lambda t: np.minimum(t[CASE, "TCP_utilization"], t[CASE, "TFRC_utilization"]),
    between=(0.955, 1.0),
    evidence="TR-00-003, Figure 14, gives 99 % for both; the band is that of a utilisation cell, 0.03 "
    "beyond what rounds to 0.99",
)
figure.claim("TFRC has fewer drops than TCP")(
    lambda t: t[CASE, "TFRC_drop_rate"] / t[CASE, "TCP_drop_rate"], between=(0.5, 0.97)
)
figure.claim("The queue is much the same: mean with TFRC over mean with TCP")(
    lambda t: t[CASE, "TFRC_mean_queue"] / t[CASE, "TCP_mean_queue"], between=(0.75, 1.35)
)
vary(figure, "equal-rtts", "from-20s", runs=5)
vary(figure, "no-reverse")
vary(figure, "ns2-rules", only=["TFRC"], runs=5)
