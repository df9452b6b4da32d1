import numpy as np
from paper import BOTH_KINDS, PAPER, place

from tfrc.lab import Experiment, Quick

figure = Experiment(
    PAPER,
    place(18),
    "Error of the predictors of the loss rate against the length of the history",
    keys={"weights": [], "intervals": []},
    ignored={
        "internet_error_avg": "Internet traces that are not to be had",
        "internet_error_stddev": "as before",
    },
    quick=Quick(1),
    profiles=BOTH_KINDS,
)
# The changes that make Figure 9's mix Figure 11's.
SOURCES = ["flow.onoff.count=70", "flow.tcp.count=2", "flow.tfrc.count=2"]


def loss_intervals(course):
    """Packets between the beginnings of loss events: a loss begins a new one if it comes a round-trip time
    after the last began."""
    time, rtt = course.t_s.to_numpy(), course.rtt_s.fillna(0.1).to_numpy()
    began = []
    for at in np.flatnonzero(course.lost_packets > 0):
        if not began or time[at] > time[began[-1]] + rtt[at]:
            began.append(at)
    intervals = np.diff(np.cumsum(course.sent_packets.to_numpy())[began])
    return intervals[intervals > 0]


def errors(trace, weights, n):
    """|1/mean of the n intervals before - 1/interval|, for each interval with 32 before it."""
    age = np.arange(n, 0, -1)
    weight = np.minimum(1, 1 - (age - n / 2) / (n / 2 + 1)) if weights == "decreasing" else np.ones(n)
    before = [trace[at - n : at] @ weight for at in range(32, len(trace))]
    return abs(weight.sum() / np.array(before) - 1 / trace[32:])


@figure.compute_each
def values(profile, rows, changes, seed):
    traces = []
    for mix in (changes, [*changes, *SOURCES]):
        flows = figure.courses(mix, seed, interval=0.01)
        tfrc = sorted(name for name in flows if name.startswith("tfrc"))
        traces += [loss_intervals(flows[name]) for name in tfrc[:2]]
    found = {}
    for row in rows:
        weights, n = row.keys
        error = np.concatenate([errors(trace, weights, int(n)) for trace in traces])
        found[row.name, "error_avg"], found[row.name, "error_stddev"] = error.mean(), error.std()
        found[row.name, "loss_events"] = sum(map(len, traces))
    return found


figure.columns("error_avg", "error_stddev", "loss_events")

figure.claim("A history of 8 intervals predicts better than one of 2")(
    lambda t: t["decreasing/8", "error_avg"] / t["decreasing/2", "error_avg"], between=(0.5, 0.97)
)
figure.claim("16 are no better than 8 by more than a few per cent")(
    lambda t: t["decreasing/16", "error_avg"] / t["decreasing/8", "error_avg"], between=(0.9, 1.05)
)
figure.claim("32 are not better than 16")(
    lambda t: t["decreasing/32", "error_avg"] / t["decreasing/16", "error_avg"], between=(0.97, 1.2)
)
figure.claim("Decreasing weights are no worse than constant ones at n = 8")(
    lambda t: t["decreasing/8", "error_avg"] / t["constant/8", "error_avg"], between=(0.85, 1.02)
)
figure.claim("and at n = 32")(
    lambda t: t["decreasing/32", "error_avg"] / t["constant/32", "error_avg"], between=(0.85, 1.02)
)
