"""Means with their intervals, and the comparison of two means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy as np
from scipy.special import stdtr, stdtrit


class Estimate(NamedTuple):
    """A mean over runs, and half the width of its 95 % interval by Student's t; NaN where unknown."""

    mean: float
    ci95: float


class Known(NamedTuple):
    """A control of a sample: its value in each run, its expectation and the standard error of that."""

    values: Sequence[float]
    mean: float
    error: float


class Welch(NamedTuple):
    """Two means of runs, compared."""

    ratio: float
    """The second mean over the first."""
    half_width: float
    """Half the width of the interval of the difference, as a share of the first mean."""
    p: float
    """The probability of so large a difference between samples of one mean."""


def _student(alpha: float, freedom: float) -> float:
    return float(stdtrit(freedom, 1.0 - alpha / 2.0))


def estimate(values: Sequence[float], alpha: float = 0.05, known: Optional[Known] = None) -> Estimate:
    """The mean of a sample and half the width of the interval that leaves out the share `alpha`.

    With a control the mean is that of the regression on it, at the control's expectation; one
    coefficient more is fitted, and the error of the expectation is in the interval.
    """
    count = len(values)
    if count < 2:
        return Estimate(float(values[0]) if count else math.nan, math.nan)
    mean, middle = float(np.mean(values)), float(np.mean(known.values)) if known else 0.0
    around = np.asarray(known.values) - middle if known else np.zeros(count)
    if known is None or count < 4 or (spread := float(around @ around)) == 0.0:
        error = float(np.std(values, ddof=1)) / math.sqrt(count)
        return Estimate(mean, _student(alpha, count - 1.0) * error)
    slope, shift = float(around @ np.asarray(values)) / spread, known.mean - middle
    left = np.asarray(values) - mean - slope * around
    error = math.sqrt(float(left @ left) / (count - 2.0) * (1.0 / count + shift**2 / spread))
    half = _student(alpha, count - 2.0) * math.hypot(error, slope * known.error)
    return Estimate(mean + slope * shift, half)


def prediction(values: Sequence[float], runs: int) -> float:
    """How far the mean of `runs` other runs may be from the expectation, at 95 %."""
    if len(values) < 2:
        return 0.0
    return _student(0.05, len(values) - 1.0) * float(np.std(values, ddof=1)) / math.sqrt(runs)


def deviation_of(half: float, runs: int) -> float:
    """The standard deviation of `runs` values whose mean has a 95 % interval of this half width."""
    return half * math.sqrt(runs) / _student(0.05, runs - 1.0) if runs > 1 else math.nan


def variation(values: Sequence[float]) -> float:
    """Standard deviation of the values themselves over their mean; NaN for fewer than two values or
    a mean that is not positive."""
    middle = float(np.mean(values)) if len(values) > 1 else 0.0
    return float(np.std(values)) / middle if middle > 0.0 else math.nan


def welch(first: Sequence[float], second: Sequence[float], alpha: float) -> Optional[Welch]:
    """Compares two samples of unequal variances; the interval leaves out the share `alpha`. None for
    fewer than two values in a sample, or a first mean of zero."""
    if min(len(first), len(second)) < 2 or (middle := float(np.mean(first))) == 0.0:
        return None
    difference = float(np.mean(second)) - middle
    e1, e2 = (float(np.var(sample, ddof=1)) / len(sample) for sample in (first, second))
    error, ratio = math.sqrt(e1 + e2), float(np.mean(second)) / middle
    if error == 0.0:
        # Samples without scatter: any difference is real.
        return Welch(ratio, 0.0, 1.0 if difference == 0.0 else 0.0)
    # The degrees of freedom of Welch and Satterthwaite.
    freedom = (e1 + e2) ** 2 / (e1**2 / (len(first) - 1) + e2**2 / (len(second) - 1))
    p = 2.0 * float(stdtr(freedom, -abs(difference) / error))
    return Welch(ratio, _student(alpha, freedom) * error / abs(middle), p)


def holm(p_values: Sequence[float], alpha: float) -> list[bool]:
    """Marks the comparisons whose means differ by Holm's procedure: together they err with a
    probability of at most `alpha`."""
    apart = [False] * len(p_values)
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[place] > alpha / (len(p_values) - rank):
            break
        apart[place] = True
    return apart
