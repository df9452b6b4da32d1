"""Figures of one's own runs, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._native import Table

# Curves that colours and a legend still tell apart.
MOST_CURVES = 10


def plot(flows: Table, series: Table, run: int, point: int) -> Figure:
    """The goodput of each flow and the queue of each link over time, one above the other.

    Of more than ten flows those of a kind have one colour, and a thick line shows their mean.
    """
    here = (series["run"] == run) & (series["point"] == point)
    if not here.any():
        raise ValueError(f"there is no run {run} of point {point}")
    figure, (rates, queues) = plt.subplots(
        2, 1, sharex=True, figsize=(8, 5), gridspec_kw={"height_ratios": (2, 1)}, layout="constrained"
    )
    goodput = _curves(series, here, "flow", "goodput_bps", 1e-6)
    if len(goodput) > MOST_CURVES:
        _kinds(rates, goodput, dict(zip(flows["id"], flows["kind"])))
    else:
        _each(rates, goodput)
    rates.set_ylabel("goodput, Mbit/s")
    _each(queues, _curves(series, here, "link", "queue_packets", 1.0))
    queues.set_ylabel("queue, packets")
    queues.set_xlabel("time, s")
    for axes in (rates, queues):
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        if len(axes.get_legend_handles_labels()[1]) in range(1, MOST_CURVES + 1):
            axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _curves(series: Table, here: Any, kind: str, key: str, scale: float) -> dict[str, Any]:
    """Times and values of each flow or link that has values, by its name."""
    names = np.array([name or "" for name in series[kind]], dtype=object)
    times, values = series["t_s"], series[key] * scale
    curves = {}
    for name in dict.fromkeys(names[here]):
        of_name = here & (names == name)
        if name and np.isfinite(values[of_name]).any():
            curves[name] = (times[of_name], values[of_name])
    return curves


def _each(axes: Axes, curves: dict[str, Any]) -> None:
    for name, (times, values) in curves.items():
        axes.plot(times, values, label=name, linewidth=1.2)


def _kinds(axes: Axes, curves: dict[str, Any], kinds: dict[str, str]) -> None:
    """Thin curves in the colour of their kind, and the mean of each kind."""
    for number, kind in enumerate(dict.fromkeys(kinds.values())):
        members = [curve for name, curve in curves.items() if kinds[name] == kind]
        if not members:
            continue
        for times, values in members:
            axes.plot(times, values, color=f"C{number}", alpha=0.2, linewidth=0.7)
        mean = np.mean([values for _, values in members], axis=0)
        label = f"{kind}, mean of {len(members)}"
        axes.plot(members[0][0], mean, color=f"C{number}", linewidth=2.0, zorder=3, label=label)
