"""The common part of the comparisons with ns-2: the simulator is compared with ns-2, not with the RFCs."""

from functools import partial

from tfrc.lab import Experiment, Paper, Run

NS2 = Paper(
    "Debian's ns-2, 2.35+dfsg-5, with the scripts of experiments/ns2/scripts/",
    revision="ns2",
)
# A whole table of runs is compared by Welch's test.
comparison = partial(Experiment, NS2, "", judge="welch")
# The TCPs whose variant is the name of the sender.
TCPS = ("tahoe", "reno", "newreno", "sack")


def mean_rates(run: Run, *kinds: str) -> dict[str, float]:
    """The mean rate of sending of these kinds of flows, and the drop rate and use of the bottleneck."""
    rates = {f"{kind}_bps": run.flow(kind, "send_rate_bps") for kind in kinds}
    return {**rates, "drop": run.link("bottleneck", "drop_rate"), "util": run.link("bottleneck", "utilization")}
