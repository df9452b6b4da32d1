import numpy as np
from paper import comparison, mean_rates

from tfrc.lab import Quick, mean

figure = comparison(
    "16 TCP and 16 TFRC at 15 Mbit/s",
    keys={"discipline": []},
    # Round-trip times and phases, which a seed fixes, decide more than the length of a run.
    runs=40,
    quick=Quick(3, ["duration=60s"]),
)
RED = (
    "link.bottleneck.queue={ red = { revision = 'ns2', limit = '100p', measure = 'packets', mode = 'packet', "
    "mean_packet = '1000B', thresholds = 'fixed', min = 10, max = 50, weight = 0.002 } }"
)


def measure(run):
    # Of the first TFRC flow.
    thetas = run.thetas("tfrc-1")

    def percentile(share):
        return mean(np.percentile(theta.intervals, share) for theta in thetas)

    return {
        **mean_rates(run, "tcp", "tfrc"),
        "tcp_cov": run.flow("tcp", "cov_200ms"),
        "tfrc_cov": run.flow("tfrc", "cov_200ms"),
        "tcp_cuts_per_packet": run.total("tcp", "loss_events") / run.total("tcp", "sent_packets"),
        "queue": run.link("bottleneck", "mean_queue_packets"),
        "interval_mean": run.theta("tfrc-1", "mean"),
        "interval_cv": run.theta("tfrc-1", "cv"),
        **{f"interval_p{share}": percentile(share) for share in (10, 50, 90)},
    }


figure.run(measure, name="drop-tail", rows=["drop-tail"])
figure.run(measure, name="red", rows=["red"], set=[RED])
figure.columns("tcp_bps", "tfrc_bps", "tcp_cov", "tfrc_cov", "tcp_cuts_per_packet", against="ns2")
figure.columns("drop", "util", "queue", against="ns2")
figure.columns("interval_mean", "interval_cv", "interval_p10", "interval_p50", "interval_p90", against="ns2")
