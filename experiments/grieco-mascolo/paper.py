"""The common part of the figures of Grieco and Mascolo.

Rules for all experiments of this folder, fixed before their results were seen (docs/experiments.md).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from tfrc.lab import Experiment, Means, Paper, Quick, Run, SeedRule, mean

Kind = Literal["reno", "tfrc"]

LETTER = Paper(
    "Grieco and Mascolo, Electronics Letters 40(5), 2004",
    seeds=SeedRule(least=10, most=400, hops=300e6, part=3),
    holds="Over five or more full drop-tail queues a long TFRC flow starves, an order of magnitude below Reno's. "
    "(With RED, of which the letter says nothing, it does not here.)",
    fails="TFRC among Reno gets two to four times as much, not slightly more.",
)
chain = partial(
    Experiment,
    LETTER,
    scenario="../chain.toml",
    keys={"hops": ["flow.c1.to"], "buffer": ["link.*.queue"]},
    must_agree=True,
    # Beside what is judged: two, as five cost a minute and a half of a processor.
    rfc_runs=2,
    quick=Quick(3, ["duration=300s"], ["1/12p ns2", "5/12p ns2", "10/12p ns2"]),
)
# The rows of the runs that a mixed run is compared with.
ALONE = ["1/12p ns2", "3/12p ns2", "5/12p ns2", "7/12p ns2", "10/12p ns2"]

# The flows of the scenarios are TFRC.
RENO = ["kind=tcp", "segment=1460B", "header=40B", "tcp.variant=reno", "tcp.window=1000"]
SETTINGS: dict[Kind, list[str]] = {"reno": RENO, "tfrc": []}
# ns-2 as of 2002: delayed acknowledgements (100 ms), minimum RTO 1 s; a loss begins an event when sent
# more than R after the last event's first.
NS2_OF_2002: dict[Kind, list[str]] = {
    "reno": ["tcp.settings=ns2", "tcp.acks=100ms", "tcp.min_rto=1s", "tcp.initial_rto=6s"],
    "tfrc": ["tfrc.revision=ns2", "tfrc.loss_event_timing=sender-time", "tfrc.initial_rate=packet-per-rtt"],
}
# Bytes of a packet for each byte that counts as goodput: TFRC's segments are whole packets.
PACKET: dict[Kind, float] = {"reno": 1500 / 1460, "tfrc": 1.0}


def flows(c1: Kind, cross: Kind, *more: str) -> dict[str, Any]:
    """The options of a run with C_1 and the cross traffic of these kinds, and with `more` changes."""

    def changes(of: dict[Kind, list[str]]) -> list[str]:
        return [f"flow.{flow}.{one}" for flow, kind in (("c1", c1), ("cross-*", cross)) for one in of[kind]]

    return {"set": [*changes(SETTINGS), *more], "profiles": {"as-published": changes(NS2_OF_2002)}}


def c1_kbps(run: Run, kind: Kind) -> float:
    """The goodput of C_1."""
    return run.goodput("c1", 10, run.to_s) * PACKET[kind] / 1000


def utilisation(run: Run, c1: Kind, cross: Kind) -> float:
    """The goodput of C_1 and the mean one of C_2, C_4, ..., over the 1 Mbit/s of a link."""
    hops = int(run.number("hops"))
    there = [run.goodput(f"cross-{2 * hop}", 0, run.to_s) for hop in range(1, hops + 1)]
    return (c1_kbps(run, c1) + mean(there) * PACKET[cross] / 1000) / 1000


def mix(figure: Experiment, c1: Kind, cross: Kind) -> None:
    """Adds C_1 among flows of the other kind, and Reno among Reno to compare with."""

    @figure.run(**flows(c1, cross))
    def mixed(run: Run) -> dict[str, float]:
        return {"utilisation": utilisation(run, c1, cross), "c1_Kbps": c1_kbps(run, c1)}

    @figure.run(**flows("reno", "reno"), rows=ALONE)
    def reno(run: Run) -> dict[str, float]:
        return {"reno_c1_Kbps": c1_kbps(run, "reno")}

    figure.columns("utilisation", run="mixed", band="utilization")
    figure.columns("c1_Kbps", run="mixed", against="published")
    figure.columns("reno_c1_Kbps", run="reno", against="published", rows=ALONE)


def difference(column: str, row: str, other: str) -> Callable[[Means], float]:
    """The value of a claim: a column in a row, less that in another row."""
    return lambda t: t[row, column] - t[other, column]
