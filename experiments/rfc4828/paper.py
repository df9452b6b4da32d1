"""The common part of the tables of RFC 4828.

Rules for all experiments of this folder, fixed before their results were seen (docs/experiments.md).
"""

from collections.abc import Callable

from tfrc.lab import Paper, SeedRule

RFC = Paper(
    "RFC 4828",
    # `open_*` came in November 2026, after all experiments were run again: a cell of Table 10 with ten seeds, which
    # were precise by `part`, lay across the edge of its band: 0.0591 to 0.0715 kbit/s for an edge at 0.060. It is the
    # last step of TR-00-003's rule, which asks for more seeds whatever they show, where all of an experiment costs
    # half a minute.
    seeds=SeedRule(least=10, most=400, hops=600e6, part=3, open_seeds=100, open_hops=300e6),
    holds="Every closed form to the printed digit; TFRC-SP gives small packets the rate of large ones where "
    "packets are dropped, and starves large ones where bytes are.",
    fails="The worked numbers belong to another timeout than the RFC's own; by its text TFRC-SP is up to twice "
    "as fast at 30 to 40 % as printed.",
    unknown="The numbers of Tables 12 to 21, whose web traffic is not described; and of a TCP that sends one to "
    "ten packets in 50 s.",
)


def at_limit(segment: int, per_second: int) -> tuple[Callable[..., bool], str]:
    """The rule by which a TFRC flow that its application limits says nothing."""
    limit = (segment + 32) * 8 * per_second / 1000
    text = f"the application's limit: {segment + 32} B, {per_second} times a second"
    return lambda measured, *_: measured > 0.97 * limit, text
