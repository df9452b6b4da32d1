"""The common part of the experiments with the TCPs of today.

Nothing is published here, so there are no seeds by the width of a band.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from tfrc.lab import Experiment, Paper, Run, over

MAP = Paper("nothing published: a map of our own", own=True)
KERNEL = Paper(
    "nothing published: the kernel's TCP, recorded in emulated.csv",
    own=True,
    holds="TFRC's rate is within a factor of two of the kernel's Reno and CUBIC where queues are RED, CoDel or "
    "of one product and windows are middling.",
    fails="Next to CUBIC over 200 ms it has an eighth to a half, behind four products less than a half, and next "
    "to BBR through RED, CoDel and small buffers half at most.",
)

# A map takes hours; of the kernel's experiments the settings are Linux's in both profiles.
map_of = partial(Experiment, MAP, "", long=True)
kernel = partial(Experiment, KERNEL, "", rfc_runs=1)

QUEUE = "link.bottleneck.queue"
RED = [f"{QUEUE}={{ red = {{ limit = '100p', min = 10, max = 30, max_p = '10%' }} }}"]
CODEL = [f"{QUEUE}={{ codel = {{ limit = '1000p' }} }}"]
# The queues of a map: the rows by their queue, the changes of the scenario, the paths of the queue's keys.
QUEUES: dict[str, tuple[str, list[str], dict[str, list[str]]]] = {
    "drop-tail": ("*BDP", [], {"room": [QUEUE]}),
    "red": (
        "red",
        RED,
        {"room": [f"{QUEUE}.red.limit"], "low": [f"{QUEUE}.red.min"], "high": [f"{QUEUE}.red.max"]},
    ),
    "codel": ("codel", CODEL, {"room": [f"{QUEUE}.codel.limit"]}),
}
# Key columns of the maps: of the place, of the queue, and of the times.
PLACE: dict[str, list[str]] = {
    "tcp": ["flow.tcp.tcp.variant"],
    "rate": ["link.bottleneck.rate"],
    "rtt": ["link.bottleneck.delay"],
    "queue": [],
    "tcps": ["flow.tcp.count"],
    "tfrcs": ["flow.tfrc.count"],
}
LIMITS: dict[str, list[str]] = {"room": [QUEUE], "low": [], "high": []}
TIMES = {"after": ["warmup"], "time": ["duration"]}
# The profile of TFRC, whose friend is CUBIC if no other is named.
BALANCED, RENO = "flow.tfrc.tfrc.profile=balanced", "flow.tfrc.tfrc.friend=reno"


def through(figure: Experiment, queue: str, tcp: str = "") -> dict[str, Any]:
    """The options of a run through a queue, in all its rows or in those that begin with a TCP."""
    rows, changes, keys = QUEUES[queue]
    return {"rows": [f"{tcp}*/{rows}/*"], "set": changes, "keys": {**figure.keys, **keys}}


def log2(x: float) -> float:
    """The binary logarithm; NaN if there is none."""
    return math.log2(x) if x > 0 else math.nan


def ratio_log2(run: Run, ours: str = "tfrc", theirs: str = "tcp") -> float:
    """A goodput over another, binary logarithm: the mean over seeds is that of the geometric mean."""
    rate, other = (max(run.flow(name, "goodput_bps"), 1.0) for name in (ours, theirs))
    return log2(rate / other)


def of_map(run: Run, ours: str = "tfrc") -> dict[str, float]:
    """The columns that all maps have, of a flow next to a TCP."""
    return {
        "ratio_log2": ratio_log2(run, ours),
        "tcp_mbps": run.flow("tcp", "goodput_bps") / 1e6,
        "cov_ratio": over(run.flow(ours, "cov"), run.flow("tcp", "cov")),
        # When the goodputs of ten seconds are first within a factor of two.
        "meets_s": run.meets(ours, "tcp", 2, 10),
        "utilization": run.link("bottleneck", "utilization"),
    }


# The five factors of the ratio; they need what a run keeps of the delays.
FACTORS = ("obedience", "loss_events", "rtt", "rto", "tcp")


def of_tfrc_map(run: Run) -> dict[str, float]:
    """The columns of a map of TFRC."""
    # The fewer of both: window reductions of a TCP, loss events of a TFRC flow.
    epochs = float(np.minimum(run.flow("tcp", "loss_events"), run.flow("tfrc", "loss_events")))
    factors = {f"{name}_log2": log2(run.flow("tfrc", f"tcp_ratio_{name}")) for name in FACTORS}
    return {**of_map(run), "epochs": epochs, **factors}


MAP_COLUMNS = ("ratio_log2", "tcp_mbps", "cov_ratio", "meets_s", "utilization")
TFRC_MAP_COLUMNS = (*MAP_COLUMNS, "epochs", *(f"{name}_log2" for name in FACTORS))
