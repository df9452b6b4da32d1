import numpy as np
from courses import between
from paper import BOTH_KINDS, PAPER

from tfrc.lab import Experiment, Quick

figure = Experiment(
    PAPER,
    "Figure 28",
    "The queue without background traffic and with equal round-trip times",
    keys={"queue": [], "traffic": []},
    quick=Quick(1),
    profiles=BOTH_KINDS,
)
# The changes for a queue, and for flows of one kind.
CHANGES = {
    "RED": [],
    "DropTail": ["link.bottleneck.queue=250p ns2"],
    "TCP": ["flow.tfrc.count=0"],
    "TFRC": ["flow.tcp.count=0"],
}
COLUMNS = ("mean_queue", "deviation", "variation", "regularity")


def regularity(queue):
    """The highest return of the autocorrelation after its first fall below zero: 1 for a standing wave, 0 for
    none."""
    waves = queue - queue.mean()
    correlation = np.array([waves[lag:] @ waves[:-lag] for lag in range(1, 300)]) / (waves @ waves)
    falls = np.flatnonzero(correlation < 0)
    return correlation[falls[0] :].max() if len(falls) else 0.0


@figure.compute_each
def values(profile, rows, changes, seed):
    found = {}
    for row in rows:
        queue, kind = row.keys
        flows = figure.courses([*changes, *CHANGES[kind], *CHANGES[queue]], seed, interval=0.01)
        rtt = between(flows["ping"], 10, 30).rtt_s.dropna().to_numpy()
        # What waits, in packets of 1000 bytes at 15 Mbit/s, from the delay beyond propagation and
        # transmission.
        waiting = np.maximum((rtt - 0.045) * 1875, 0)
        mean, deviation = waiting.mean(), waiting.std()
        measured = (mean, deviation, deviation / mean, regularity(waiting))
        found.update({(row.name, column): value for column, value in zip(COLUMNS, measured)})
    return found


figure.columns(*COLUMNS)

figure.claim(
    "DropTail and TCP: a standing oscillation of the queue (its autocorrelation comes back to 0.4 or more)"
)(lambda t: t["DropTail/TCP", "regularity"], between=(0.4, 1))
figure.claim("DropTail and TFRC: the same", lambda t: t["DropTail/TFRC", "regularity"], between=(0.4, 1))
figure.claim("RED and TCP: none", lambda t: t["RED/TCP", "regularity"], between=(0, 0.35))
figure.claim("RED and TFRC: none", lambda t: t["RED/TFRC", "regularity"], between=(0, 0.35))
figure.claim("RED keeps the queue lower than DropTail")(
    lambda t: t["RED/TCP", "mean_queue"] / t["DropTail/TCP", "mean_queue"], between=(0.15, 0.85)
)
