"""Courses of flows in stretches of a run: what was sent and lost (Figures 18, 22, 23, 28)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pandas import DataFrame
from paper import PAPER

from tfrc.lab import Experiment


def between(course: DataFrame, start: float, end: float) -> DataFrame:
    """The stretches that end between two times."""
    return course[(course.t_s > start + 1e-6) & (course.t_s <= end + 1e-6)]


def one_stops(
    number: int, kind: str, rfc: Callable[[str], str], peak: tuple[float, int, float]
) -> Experiment:
    """Figure 22 or 23: what one of two flows does when the other stops at 30 s, in packets of each tenth of a
    second. `rfc` makes a flow the RFC's; `peak` is the highest rate that the figure has, with its band."""
    figure = Experiment(
        PAPER,
        f"Figure {number}",
        f"Two {kind} flows, one of which stops: packets in 0.1 s",
        keys={"case": []},
        profiles={"rfc": [rfc("stays"), rfc("stops")]},
    )

    @figure.compute_each
    def values(profile: str, rows: Any, changes: Sequence[str], seed: int) -> dict[tuple[str, str], float]:
        course = figure.courses(changes, seed, interval=0.1)["stays"]
        before, after, settled = (between(course, *times) for times in ((25, 30), (30, 40), (32, 40)))
        # Half a second at three quarters of the line's 18.75 packets.
        halves = np.convolve(after.sent_packets, np.ones(5), "valid")
        high = after.t_s.to_numpy()[: len(halves)][halves >= 0.75 * 18.75 * 5]
        later = between(course, 30.5, 40)
        losses = later.t_s[later.lost_packets > 0]
        found = {
            "before": before.sent_packets.mean(),
            "after": settled.sent_packets.mean(),
            "peak": after.sent_packets.max(),
            "deviation": settled.sent_packets.std(ddof=0),
            "rise_s": min(high, default=math.nan) - 30,
            "first_loss_s": min(losses, default=40.0) - 30,
        }
        return {(row.name, column): value for row in rows for column, value in found.items()}

    figure.columns("peak", band="rate")
    figure.columns("before", "after", "deviation", "rise_s", "first_loss_s")
    low, most, high = peak
    figure.claim(
        f"After the stop the {kind} flow never sends much above the line's 18.75 packets in 0.1 s: "
        f"{most} at most ({low} to {high})"
    )(lambda t: t["one stops", "peak"], between=(low, high))
    figure.claim("It takes over the line", lambda t: t["one stops", "after"], between=(16.9, 19))
    figure.claim("Before the stop it has about a half (7 to 12.5)")(
        lambda t: t["one stops", "before"], between=(7, 12.5)
    )
    return figure
