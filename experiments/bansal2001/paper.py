"""Rules for all experiments of this folder, fixed before their results were seen (docs/experiments.md)."""

from tfrc.lab import Paper, SeedRule

BANSAL = Paper(
    "Bansal, Balakrishnan, Floyd and Shenker, SIGCOMM 2001",
    seeds=SeedRule(least=20, most=400, hops=300e6, part=3),
)
