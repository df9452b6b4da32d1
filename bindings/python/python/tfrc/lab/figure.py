"""Figures of results: ours over the print, with intervals. Equal results give equal bytes.

An experiment that draws in the form of its paper names the panels of its `Page`; without them there
is a panel for each column over the first key.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import matplotlib as mpl
from matplotlib.figure import Figure

from .experiment import BadExperiment, Experiment, World, fits
from .recording import number
from .runner import assignments
from .store import Store

if TYPE_CHECKING:
    from pandas import DataFrame

# Panels side by side; the most panels of a figure that names none.
ACROSS, MOST = 2, 8
# The references of a measured curve: the key of a cell, its word and mark.
SIDES = (("published", "print", "s"), ("ns2", "ns-2", "x"))
# Forms of a figure, and what would make two files of equal results differ.
NAMELESS = {"svg": ("Date", "Creator"), "pdf": ("CreationDate", "Creator", "Producer"), "png": ("Software",)}
LINE: dict[str, Any] = {"markersize": 3, "capsize": 2, "linewidth": 1}
UNITS = {"kbit/s": 1e3, "kB/s": 8e3, "Mbit/s": 1e6}
Panel = Callable[[Any], None]


class Page:
    """The panels of one experiment's figure: those that it names, at first."""

    def __init__(self, experiment: Experiment, result: dict[str, Any], store: Optional[Store] = None) -> None:
        self.experiment, self.result, self.store = experiment, result, store or Store()
        self.panels: list[Panel] = []
        self._keys = {row.name: dict(zip(experiment.published.keys, row.keys)) for row in experiment.published.rows}
        for form, arguments, options in experiment.drawing:
            getattr(self, form)(*arguments, **options)

    def curves(
        self,
        *columns: str,
        x: Optional[str] = None,
        by: Sequence[str] = (),
        per: Optional[str] = None,
        title: str = "",
        xlabel: Optional[str] = None,
        ylabel: Optional[str] = None,
        ylim: Optional[tuple[float, float]] = None,
        log: Optional[str] = None,
        world: World = "sim",
        rows: str = "*",
    ) -> None:
        """Adds columns over the key `x`, the first without: a panel for each value of the keys `by`
        in rows of this form, in it a curve for each column, or of one column for each value of the
        key `per`. `log` names the logarithmic axes, of `x` and `y`; without it the values of the key
        decide."""
        x = x or self.experiment.published.keys[0]
        shown = {row: keys for row, keys in self._keys.items() if fits(rows, row)}
        places = dict.fromkeys(tuple(keys[key] for key in by) for keys in shown.values())
        for place in places:

            def draw(axes: Any, place: tuple[str, ...] = place) -> None:
                curves: dict[str, list[tuple[str, dict[str, Any]]]] = {}
                for cell in self.result["cells"]:
                    keys = shown.get(cell["row"])
                    if keys and cell["column"] in columns and tuple(keys[key] for key in by) == place:
                        curves.setdefault(keys[per] if per else cell["column"], []).append((keys[x], cell))
                self._draw(axes, curves, world, len(columns) == 1 or bool(per))
                of = title or (columns[0] if len(columns) == 1 else "")
                axes.set_title(", ".join([of, *place]).strip(", "))
                _finish(axes, xlabel or x, ylabel, ylim, log)

            self.panels.append(draw)

    def across(
        self, prefix: str, *, xlabel: str, ylabel: Optional[str] = None, log: Optional[str] = None, **more: Any
    ) -> None:
        """Adds a curve for each row, over the columns whose names begin so: `at_0.4s` is at 0.4."""

        def draw(axes: Any) -> None:
            curves: dict[str, list[tuple[str, dict[str, Any]]]] = {}
            for cell in self.result["cells"]:
                if cell["column"].startswith(prefix):
                    curves.setdefault(cell["row"], []).append((cell["column"].removeprefix(prefix), cell))
            self._draw(axes, curves, more.get("world", "sim"), False)
            _finish(axes, xlabel, ylabel, more.get("ylim"), log)

        self.panels.append(draw)

    def trace(
        self,
        title: str,
        run: str,
        *,
        row: Optional[str] = None,
        flows: Sequence[str] = (),
        each: Optional[int] = None,
        link: Optional[str] = None,
        step: float = 0.1,
        unit: str = "kbit/s",
        ylim: Optional[tuple[float, float]] = None,
        whole: bool = False,
    ) -> None:
        """Adds curves over the time of one run, with the scenario's own seed: the goodput of the
        first `each` flows of groups, or the queue of a link."""
        experiment = self.experiment
        plan = experiment.plans[run]
        rows = experiment.published.rows
        of_row = next(one for one in rows if row is None or one.name == row)
        changes = assignments(experiment, plan, "as-published", of_row, ())

        def draw(axes: Any) -> None:
            path = str(experiment.folder / plan.scenario)
            series = self.store.series(path, changes, None, step)
            table = series.table[series.table.t_s > (0.0 if whole else series.from_s)]
            if link is not None:
                _lines(axes, table[table.link == link], "link", "queue_packets", 1.0)
            ids = list(dict.fromkeys(table.flow.dropna()))
            for group in flows:
                some = [id for id in ids if id == group or id.startswith((f"{group}-", f"{group}."))][:each]
                _lines(axes, table[table.flow.isin(some)], "flow", "goodput_bps", UNITS[unit])
            axes.set_title(title)
            _finish(axes, "time, s", "packets waiting" if link else f"goodput, {unit}", ylim, "")

        self.panels.append(draw)

    def figure(self) -> Figure:
        """The panels in rows of two."""
        rows, wide = math.ceil(len(self.panels) / ACROSS), min(len(self.panels), ACROSS)
        figure = Figure(figsize=(4.4 * wide, 3.0 * rows), layout="constrained")
        for place, draw in enumerate(self.panels, 1):
            draw(figure.add_subplot(rows, wide, place))
        return figure

    def _draw(
        self, axes: Any, curves: dict[str, list[tuple[str, dict[str, Any]]]], world: World, is_one: bool
    ) -> None:
        texts = list(dict.fromkeys(text for points in curves.values() for text, _ in points))
        is_number = bool(texts) and not any(math.isnan(number(text)) for text in texts)
        at = {text: number(text) if is_number else float(place) for place, text in enumerate(texts)}
        ours_of = {"sim": ("measured", "ci95"), "emu": ("emulated", "emulated_ci95")}
        key, half = ours_of[world]
        for name, points in curves.items():
            ours = sorted(
                (at[text], cell[key], cell.get(half) or 0.0) for text, cell in points if cell.get(key) is not None
            )
            line = None
            if ours:
                spots, means, halves = zip(*ours)
                label = key if is_one and len(curves) == 1 else name
                line = axes.errorbar(spots, means, yerr=halves if any(halves) else None, fmt="o-", label=label, **LINE)
            for side, word, mark in SIDES if world == "sim" else ():
                found = sorted((at[text], cell[side]) for text, cell in points if cell.get(side) is not None)
                if found:
                    colour = line[0].get_color() if line is not None else None
                    look = {"markersize": 6, "markerfacecolor": "none", "color": colour}
                    axes.plot(*zip(*found), mark, label=word if len(curves) == 1 else None, **look)
        if not is_number:
            axes.set_xticks(list(at.values()), texts, rotation=60 if len(texts) > 4 else 0, fontsize="x-small")
        elif at and min(at.values()) > 0.0 and max(at.values()) / min(at.values()) >= 20.0:
            axes.set_xscale("log")


def of(experiment: Experiment, result: dict[str, Any], store: Optional[Store] = None) -> Optional[Figure]:
    """The figure of an experiment; None if nothing was measured."""
    cells = [cell for cell in result["cells"] if cell["measured"] is not None or cell.get("emulated") is not None]
    if not cells:
        return None
    page = Page(experiment, result, store)
    if not page.panels:
        names = dict.fromkeys(cell["column"] for cell in cells)
        of_print = [name for name in names if not experiment.columns_[name].prefix]
        for name in of_print[:MOST]:
            is_emulated = all(cell["measured"] is None for cell in cells if cell["column"] == name)
            page.curves(name, world="emu" if is_emulated else "sim")
    return page.figure()


def svg(figure: Figure) -> str:
    """A figure as SVG: no date, and ids by a fixed salt. What nothing refers to or what is said twice is
    left out, and places have a tenth of a point, which makes half of the bytes."""
    file = io.BytesIO()
    _save(figure, file, "svg")
    text = re.sub(r"<metadata>.*?</metadata>|<\?xml.*?\?>|<!DOCTYPE.*?>", "", file.getvalue().decode(), flags=re.S)
    used = set(re.findall(r"#([\w.-]+)", text))
    text = re.sub(r'(<g|<text) id="([^"]*)"', lambda found: found[0 if found[2] in used else 1], text)
    text = re.sub(r' transform="rotate\(-0 [^"]*"', "", text)
    # Places stand in tags; what is written between them keeps its digits.
    place = partial(re.sub, r"-?\d+\.\d{2,}", lambda found: f"{float(found[0]):.1f}".removesuffix(".0"))
    text = re.sub(r"<[^>]*>", lambda tag: place(tag[0]), text)
    # The style of a mark that is the same wherever it is used stands with its shape.
    use = r'(<use xlink:href="#([^"]+)"[^>]*?) style="([^"]*)"'
    styles = {of: {style for _, name, style in re.findall(use, text) if name == of} for of in used}
    one = {of: next(iter(some)) for of, some in styles.items() if len(some) == 1}
    text = re.sub(use, lambda found: found[1 if found[2] in one else 0], text)
    text = re.sub(r'(<path id="([^"]+)"[^>]*? style=")', lambda found: f"{found[1]}{one.get(found[2], '')}; ", text)
    text, before = re.sub(r"\s*\n\s*", "\n", text).strip() + "\n", ""
    while text != before:
        text, before = re.sub(r"<g>\n((?:(?!</?g).*\n)*?)</g>\n", r"\1", text), text
    return text


def save(figure: Optional[Figure], path: Path) -> None:
    """Writes a figure, in the form that the file's ending names."""
    if figure is None:
        raise BadExperiment(f"nothing was measured: there is no figure for {path}")
    file = io.BytesIO()
    _save(figure, file, form_of(path))
    path.write_bytes(file.getvalue())


def form_of(path: Path) -> str:
    """The form that a file's ending names."""
    form = path.suffix.lstrip(".")
    if form not in NAMELESS:
        raise BadExperiment(f"{path}: a figure is written as {', '.join(NAMELESS)}")
    return form


def _save(figure: Figure, file: io.BytesIO, form: str) -> None:
    with mpl.rc_context({"svg.hashsalt": "tfrc", "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"]}):
        figure.savefig(file, format=form, metadata=dict.fromkeys(NAMELESS[form]))


def _lines(axes: Any, table: DataFrame, by: str, key: str, unit: float) -> None:
    for name, points in table.dropna(subset=[key]).groupby(by, sort=False):
        axes.plot(points.t_s.to_numpy(), (points[key] / unit).to_numpy(), linewidth=0.8, label=name)


def _finish(
    axes: Any, xlabel: str, ylabel: Optional[str], ylim: Optional[tuple[float, float]], log: Optional[str]
) -> None:
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel or "")
    axes.title.set_fontsize("medium")
    for axis, now, scale in (("x", axes.get_xscale(), axes.set_xscale), ("y", axes.get_yscale(), axes.set_yscale)):
        wanted = now if log is None else "log" if axis in log else "linear"
        if wanted != now:
            scale(wanted)
    if ylim is not None:
        axes.set_ylim(*ylim)
    axes.grid(alpha=0.3)
    if len(axes.get_legend_handles_labels()[1]) in range(1, 11):
        axes.legend(fontsize="x-small")
