"""The common part of the comparisons with ns-2: the simulator is compared with ns-2, not with the RFCs."""

from functools import partial

from tfrc.lab import Experiment, Paper

NS2 = Paper(
    "Debian's ns-2, 2.35+dfsg-5, with the scripts of experiments/ns2/scripts/",
    revision="ns2",
)
# A whole table of runs is compared by Welch's test.
comparison = partial(Experiment, NS2, "", judge="welch")
# The TCPs whose variant is the name of the sender.
TCPS = ("tahoe", "reno", "newreno", "sack")
