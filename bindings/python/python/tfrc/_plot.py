"""Figures of one's own runs, by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

import matplotlib.pyplot as plt
import numpy as np

from . import _native

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._native import Table

# Curves that colours and a legend still distinguish.
MOST_CURVES = 10
# An axis whose greatest value is this many times its least is logarithmic.
LOGARITHMIC = 20.0
# Lines of curves that share a colour.
DASHES = ("-", "--", ":", "-.")
# Prefixes of a unit, from the largest.
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))


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
    kinds = dict(zip(flows["id"], flows["kind"]))
    if len(goodput) > MOST_CURVES:
        _kinds(rates, goodput, kinds)
    else:
        _each(rates, goodput, kinds)
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


def over(
    flows: Table,
    links: Table,
    axes: Mapping[str, Optional[str]],
    x: str,
    y: str,
    by: Union[str, Sequence[str], None],
) -> Figure:
    """Means of `y` over runs with their 95 % intervals, over the axis `x`."""
    if x not in axes:
        raise ValueError(f"no sweep of {x!r}; there are {', '.join(axes) or 'none'}")
    table, name = (flows, "kind") if y in flows.column_names else (links, "id")
    if y not in table.column_names:
        raise ValueError(f"no figure {y!r} of flows or links")
    apart = [by] if isinstance(by, str) else list(by or [name])
    apart += [axis for axis in axes if axis != x and axis not in apart]
    figure, area = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    samples = _samples(table, x, y, apart)
    places = {value: float(at) for at, value in enumerate(dict.fromkeys(at for _, at, _ in samples))}
    is_number = axes[x] is not None
    size, unit = _scaled([value for _, _, value in samples], y)
    across, across_unit = _prefix([at for _, at, _ in samples], axes[x] or "") if is_number else (1.0, "")
    drawn: dict[Any, list[tuple[float, float, float]]] = {}
    for key in dict.fromkeys(key for key, _, _ in samples):
        for at in places:
            values = [value for k, a, value in samples if k == key and a == at and np.isfinite(value)]
            mean, half = _native.estimate(values)
            if mean is not None:
                place = at / across if is_number else places[at]
                drawn.setdefault(key, []).append((place, mean / size, (half or 0.0) / size))
    of_kinds = [key[apart.index("kind")] if "kind" in apart else None for key in drawn]
    for (key, points), pen in zip(drawn.items(), _pens(of_kinds)):
        spots, means, halves = zip(*sorted(points))
        label = ", ".join(_said(column, value, axes) for column, value in zip(apart, key))
        look = {"marker": "o", "markersize": 4, "capsize": 3, "linewidth": 1.2, **pen}
        area.errorbar(spots, means, yerr=halves, label=label, **look)
    if is_number:
        least, most = min(places, default=0.0), max(places, default=0.0)
        if least > 0.0 and most / least >= LOGARITHMIC:
            area.set_xscale("log")
    else:
        area.set_xticks(list(places.values()), list(places))
    area.set_xlabel(_named(_worded(x), across_unit))
    area.set_ylabel(_named(y.rsplit("_", 1)[0] if unit else y, unit).replace("_", " "))
    runs = len(set(table["run"]))
    has_bars = any(half > 0.0 for points in drawn.values() for _, _, half in points)
    bars = ", and their 95 % intervals" if has_bars else ""
    about = f"means of {runs} runs{bars}" if runs > 1 else "one run at each point"
    area.set_title(about, fontsize="small", loc="left")
    area.set_ylim(bottom=0)
    area.grid(alpha=0.3)
    if len(drawn) > 1:
        area.legend(fontsize="small")
    return figure


def _samples(table: Table, x: str, y: str, apart: Sequence[str]) -> list[tuple[Any, Any, float]]:
    """Of each run, place and curve: the mean of `y` over its flows or links."""
    sums: dict[Any, list[float]] = {}
    columns = zip(table["run"], table[x], table[y], *(table[column] for column in apart))
    for run, at, value, *key in columns:
        if np.isfinite(value):
            sums.setdefault((tuple(key), at, run), []).append(float(value))
    return [(key, at, float(np.mean(values))) for (key, at, _), values in sums.items()]


def _scaled(values: Sequence[float], column: str) -> tuple[float, str]:
    """The size of the unit in which a column is drawn, and its symbol."""
    for suffix, unit in (("_bps", "bit/s"), ("_s", "s")):
        if column.endswith(suffix):
            return _prefix(values, unit)
    return 1.0, ""


def _prefix(values: Sequence[float], unit: str) -> tuple[float, str]:
    """A size of a unit that makes the greatest value a number from 1 to 1000."""
    greatest = max((abs(value) for value in values), default=0.0)
    if unit not in ("bit/s", "s") or greatest == 0.0:
        return 1.0, unit
    fits = [(size, prefix) for size, prefix in PREFIXES if greatest >= size and not (unit == "s" and size > 1.0)]
    size, prefix = fits[0] if fits else PREFIXES[-1]
    return size, prefix + unit


def _named(name: str, unit: str) -> str:
    return f"{name}, {unit}" if unit else name


def _worded(path: str) -> str:
    """The path of a value in words, such as "delay of link line"."""
    table, _, rest = path.partition(".")
    name, _, key = rest.partition(".")
    return f"{key} of {table} {name}" if table in ("flow", "link") and key else path


def _said(column: str, value: Any, axes: Mapping[str, Optional[str]]) -> str:
    """The value of a column in a legend."""
    unit = axes.get(column)
    if unit is None:
        return str(value)
    size, symbol = _prefix([value], unit)
    return f"{column.rsplit('.', 1)[-1]} {value / size:g} {symbol}".rstrip()


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


def _each(axes: Axes, curves: dict[str, Any], kinds: Mapping[str, str] = {}) -> None:
    pens = _pens([kinds.get(name) for name in curves])
    for (name, (times, values)), pen in zip(curves.items(), pens):
        axes.plot(times, values, label=name, linewidth=1.2, **pen)


def _pens(kinds: Sequence[Optional[str]]) -> list[dict[str, Any]]:
    """Colour and dashes of curves: a kind of flow has its colour, and curves of one kind their dashes."""
    seen: dict[str, int] = {}
    pens: list[dict[str, Any]] = []
    for number, kind in enumerate(kinds):
        colour = f"C{number}" if kind is None else _native.colour_of(kind)
        before = seen.get(colour, 0)
        seen[colour] = before + 1
        pens.append({"color": colour, "linestyle": DASHES[before % len(DASHES)]})
    return pens


def _kinds(axes: Axes, curves: dict[str, Any], kinds: dict[str, str]) -> None:
    """Thin curves in the colour of their kind, and the mean of each kind."""
    for kind in dict.fromkeys(kinds.values()):
        colour = _native.colour_of(kind)
        members = [curve for name, curve in curves.items() if kinds[name] == kind]
        if not members:
            continue
        for times, values in members:
            axes.plot(times, values, color=colour, alpha=0.2, linewidth=0.7)
        mean = np.mean([values for _, values in members], axis=0)
        label = f"{kind}, mean of {len(members)}"
        axes.plot(members[0][0], mean, color=colour, linewidth=2.0, zorder=3, label=label)
