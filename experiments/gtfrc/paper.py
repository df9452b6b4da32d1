"""The common part of the experiments of gTFRC's draft.

Rules for all experiments of this folder, fixed before their results were seen (docs/experiments.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tfrc.lab import Experiment, Paper, Run, SeedRule

DRAFT = Paper(
    "draft-lochin-ietf-tsvwg-gtfrc-02",
    seeds=SeedRule(least=10, most=400, hops=300e6, part=3),
    holds="A flow that never sends below its promise has it from its first loss on, and nine tenths of what "
    "leaves the edge is in profile.",
    fails="A claim of the whole link does gain while the other flow is in slow start, in a few of our runs.",
    unknown="TFRC's own share in profile: a tenth of a millisecond of a delay that is not printed decides it.",
)
NS2_OF_2006 = ["flow.*.tfrc.revision=ns2", "flow.*.tfrc.initial_rate=packet-per-rtt"]
# The draft is of 2006 and has no circuit breaker (RFC 8083, 2017); the rfc profile has the default, which is
# on.
NO_BREAKER = [*NS2_OF_2006, "flow.*.tfrc.circuit_breaker=off"]
network = partial(Experiment, DRAFT, scenario="../network.toml", profiles={"as-published": NO_BREAKER})
# Round-trip times of 250 ms for both flows (Figure 3).
EQUAL_PATHS = ["link.last-*.delay=105ms"]
PROMISED = ["flow.*.dscp=af11", "flow.*.guarantee_start=first-loss-report"]
# The times of the draft's figures, in seconds.
TIMES = {"after_20s": (19, 20), "after_50s": (49, 50), "after_100s": (99, 100), "average": (0, 100)}


def guarantees(one: str, two: str) -> list[str]:
    """The changes that promise the two flows these rates, from the first report of a loss on."""
    return [f"flow.one.guarantee={one}", f"flow.two.guarantee={two}", *PROMISED]


def throughput(figure: Experiment, kind: str, flows: Sequence[str] = ("one", "two"), **options: Any) -> None:
    """Adds a run and the throughput of its two flows at the times of the draft's figures."""
    columns = {
        f"{kind}_{place}_{name}_Kbps": (flow, *times)
        for place, flow in enumerate(flows, 1)
        for name, times in TIMES.items()
    }

    def measure(run: Run) -> dict[str, float]:
        return {column: run.goodput(*place) / 1000 for column, place in columns.items()}

    figure.run(measure, name=kind, **options)
    figure.columns(*columns, run=kind)
