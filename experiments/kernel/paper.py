"""The common part of the comparisons with Linux's TCPs.

Nothing is published here, so there are no seeds by the width of a band.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfrc.lab import Emulation, Experiment, Paper, Quick, Run, over

KERNEL = Paper(
    "nothing published: the kernel's TCP, recorded in emulated.csv",
    own=True,
    holds="What is simulated of Linux's TCP is what its kernel does in the same scenario, within the bands.",
)
QUEUE = "link.bottleneck.queue"
# The queues of the rows: the changes of the scenario, and the path of `room`, their limit.
QUEUES: dict[str, tuple[list[str], str]] = {
    "drop-tail": ([], QUEUE),
    "red": (
        [f"{QUEUE}={{ red = {{ revision = 'adaptive', limit = '100p', mean_packet = '1500B' }} }}"],
        f"{QUEUE}.red.limit",
    ),
    "codel": ([f"{QUEUE}={{ codel = {{ limit = '100p' }} }}"], f"{QUEUE}.codel.limit"),
}


def kernel(
    title: str,
    keys: Mapping[str, Sequence[str]],
    quick: Sequence[str],
    quick_emulated: Sequence[str] = (),
) -> Experiment:
    """An experiment with ten seeds of each row, and three runs of the kernel, fixed before any was made; the
    settings are Linux's in both profiles. `quick` has the rows of the quick form."""
    short = ["duration=20s"]
    return Experiment(
        KERNEL,
        "",
        title,
        keys=keys,
        runs=10,
        rfc_runs=1,
        quick=Quick(1, short, quick),
        emulation=Emulation(runs=3, quick=Quick(1, short, quick_emulated or quick)),
    )


def through(figure: Experiment, queue: str) -> dict[str, Any]:
    """The options of a run through one of the queues."""
    changes, room = QUEUES[queue]
    return {"set": changes, "keys": {**figure.keys, "room": [room]}}


def mbps(run: Run, flow: str) -> float:
    """The goodput of a flow."""
    return run.flow(flow, "goodput_bps") / 1e6


def share(run: Run, first: str, second: str) -> float:
    """The first flow's part of the goodput of both."""
    rate = run.flow(first, "goodput_bps")
    return over(rate, rate + run.flow(second, "goodput_bps"))


def queue_ms(run: Run) -> float:
    """The mean wait in the queue."""
    return 1000 * run.link("bottleneck", "mean_wait_s")


def near_kernel(figure: Experiment, text: str, column: str, band: float, least: float) -> None:
    """Claims that a column is within a band of the kernel's in a share of the rows."""
    near = f"is within {100 * band:g} % of the kernel's, or as near to it as the kernel's own runs"
    figure.claim(f"{text} {near}", lambda t: t.inside(column, band), between=(least, 1))
