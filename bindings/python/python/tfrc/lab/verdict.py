"""When a measured value agrees with a published one.

An equivalence test (the 95 % interval of the mean against a band around the reference), never a test
of difference, so that few runs cannot agree by their uncertainty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Optional

from .statistics import Estimate, Known, estimate, prediction
from .tables import Printed

# Runs below which a cell has no verdict.
FEWEST_RUNS = 10
# What a rate may differ by from the print and from ns-2; what a trace may.
PRINTED_FACTOR, NS2_FACTOR, TRACE_FACTOR = 1.25, 1.10, 1.05
BANDS = ("digits", "drop", "rate", "share", "trace", "utilization")


class Reference(NamedTuple):
    """A value to compare with: as printed, with what reading it off a curve may add to its error; or
    the mean of ns-2's runs with half the width of its 95 % interval, NaN if that is unknown. `runs`
    are those that the print is the mean of; ns-2 `is_final` if it gets no more seeds."""

    of: str
    value: float
    hidden: float
    runs: Optional[int] = None
    is_final: bool = False

    @classmethod
    def print_(cls, value: Printed, read_off: float, runs: Optional[int] = None) -> Reference:
        return cls("print", value.value, value.half_unit + read_off, runs)

    def edges(self, band: str, own: float = 0.0) -> tuple[float, float]:
        """The band: the least and the greatest mean that agrees. `own` is an error of the print."""
        # Any value that rounds to the print may be meant, and a curve can be read only so well.
        hidden = self.hidden + own if self.of == "print" else 0.0
        low, high = self.value - hidden, self.value + hidden
        factor = PRINTED_FACTOR if self.of == "print" else NS2_FACTOR
        if band == "digits":
            # The least room that a float needs.
            return low - 1e-9 * abs(low), high + 1e-9 * abs(high)
        if band == "drop":
            return low - max(0.1 * abs(low), 0.01), high + max(0.1 * abs(high), 0.01)
        if band == "trace":
            return low / TRACE_FACTOR, high * TRACE_FACTOR
        if band in ("share", "utilization"):
            room = 0.015 if band == "share" else 0.03
            return low - room, high + room
        # A value that rounds to zero may be zero; of an increment that is negative the far edge lies
        # further down.
        if low > 0.0:
            return low / factor, high * factor
        return (min(low * factor, 0.0), high * factor) if high > 0.0 else (low * factor, high / factor)

    def is_vague(self, band: str) -> bool:
        """True if ns-2's mean is known less well than the band is wide: nothing can be said by it."""
        low, high = self.edges(band)
        if self.of == "print":
            return False
        return math.isnan(self.hidden) or self.value + self.hidden > high or self.value - self.hidden < low


class Comparison(NamedTuple):
    """A verdict, and the distance of the mean from the reference in widths of the band."""

    verdict: str
    distance: float


def compare(
    values: Sequence[float],
    runs: Optional[int],
    reference: Reference,
    band: str,
    known: Optional[Known] = None,
    alpha: float = 0.05,
) -> Optional[Comparison]:
    """Compares the values of a cell with a reference. `runs` is how many runs there were, None for a
    value that is the same whatever the seed; the interval leaves out the share `alpha`."""
    measured = estimate(values, alpha, known)
    if math.isnan(measured.mean):
        return None
    low, high = reference.edges(band)
    distance = _distance(measured.mean, reference.value, low, high)
    if runs is not None and (len(values) < FEWEST_RUNS or len(values) < runs):
        return Comparison("undetermined", distance)
    if reference.is_vague(band):
        return Comparison("uninformative" if reference.is_final else "undetermined", distance)
    start, end = _interval(measured, runs is None, low)
    if start >= low and end <= high:
        return Comparison("agrees", distance)
    own = 0.0 if runs is None or reference.runs is None else prediction(values, reference.runs)
    low, high = reference.edges(band, own)
    if end < low or start > high:
        return Comparison("disagrees", distance)
    # What the print's own few runs may be off by explains the difference, and is no agreement.
    return Comparison("uninformative" if own and start >= low and end <= high else "undetermined", distance)


def width_over_band(
    values: Sequence[float], reference: Reference, band: str, known: Optional[Known] = None
) -> Optional[float]:
    """Half the width of the interval over half the width of the band; where the mean lies does not
    go in. None if more seeds would not help."""
    measured = estimate(values, known=known)
    if math.isnan(measured.mean) or math.isnan(measured.ci95) or reference.is_vague(band):
        return None
    low, high = reference.edges(band)
    start, end = _interval(measured, False, low)
    if low > 0.0 and start > 0.0:
        width, room = math.log(end / start), math.log(high / low)
    else:
        width, room = end - start, high - low
    return width / room if width else 0.0


def of_both(in_print: Optional[str], in_ns2: Optional[str]) -> Optional[str]:
    """The one word for two comparisons. The print goes first, ns-2 stands for a print that is missed
    or missing, an open comparison keeps the cell open, and one that says nothing leaves the other."""
    both = (in_print, in_ns2)
    if both == (None, None):
        return None
    if not {*both} - {None, "uninformative"}:
        return "uninformative"
    if in_print == "agrees":
        return "agrees-with-print"
    if in_ns2 == "agrees":
        return "agrees-with-ns2"
    return "undetermined" if "undetermined" in both else "disagrees"


def _interval(measured: Estimate, is_fixed: bool, low: float) -> tuple[float, float]:
    """The 95 % interval of the mean. Where all is positive half its width over the mean is taken as
    the logarithm of a factor, so that it has the shape of a band that is a factor."""
    mean = measured.mean
    half = 0.0 if is_fixed else math.inf if math.isnan(measured.ci95) else measured.ci95
    if mean > 0.0 and low > 0.0:
        return mean * math.exp(-half / mean), mean * math.exp(min(half / mean, 700.0))
    return mean - half, mean + half


def _distance(mean: float, centre: float, low: float, high: float) -> float:
    edge = low if mean < centre else high
    if mean == centre:
        return 0.0
    if mean > 0.0 and centre > 0.0 and edge > 0.0:
        room = math.log(edge / centre)
        return abs(math.log(mean / centre) / room) if room else math.inf
    return abs((mean - centre) / (edge - centre)) if edge != centre else math.inf
