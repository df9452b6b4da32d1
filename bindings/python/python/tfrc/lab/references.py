"""The values of ns-2 that experiments are compared with.

`experiments/ns2/scripts/references.toml` has the runs of ns-2, which scripts with which arguments
and seeds, and the tables that are made of them. Each run is a line of a file in `testdata/`; each
`ns2.csv` has means and half the widths of their 95 % intervals.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import numpy as np

from .. import _native
from .experiment import BadExperiment
from .statistics import estimate, variation

Keys = dict[str, str]


class References:
    """The plan of a checkout."""

    def __init__(self, root: Path) -> None:
        self._root, self._scripts = root, root / "experiments" / "ns2" / "scripts"
        plan = json.loads(_native.toml_as_json((self._scripts / "references.toml").read_text(encoding="utf-8")))
        self.runs: dict[str, dict[str, Any]] = plan["runs"]
        self.tables: list[dict[str, Any]] = plan["table"]

    def read(self, name: str) -> list[Keys]:
        """The runs of a set that were done: keys, seed and values as they are written."""
        path = self._root / self._set(name)["file"]
        if not path.exists():
            return []
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        found = csv.DictReader(lines)
        if found.fieldnames != self._names(name):
            raise BadExperiment(f"{path} has the columns {found.fieldnames}, the plan {self._names(name)}")
        return list(found)

    def fill(
        self, name: str, *, most: Optional[int] = None, minutes: float = math.inf, only: Optional[Keys] = None
    ) -> int:
        """Does the runs of a set that are missing, all rows of a seed before those of the next; how
        many. None has a seed above `most`, other keys than `only`, or begins later than `minutes`
        from now."""
        runs, end, count = self._set(name), time.monotonic() + minutes * 60.0, 0
        done = {tuple(one[key] for key in [*runs["keys"], "seed"]) for one in self.read(name)}
        path = self._root / runs["file"]
        if not path.exists():
            head = f"# {runs['about']}: ns experiments/ns2/scripts/{runs['script']} {runs['arguments']} seed=SEED\n"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(head + ",".join(self._names(name)) + "\n", encoding="utf-8")
        rows = [(keys, points["seeds"]) for points in runs["points"] for keys in _combined(runs["keys"], points)]
        for seed in range(1, min(max(seeds for _, seeds in rows), most or 2**31) + 1):
            for keys, seeds in rows:
                is_wanted = all(keys.get(key) == text for key, text in (only or {}).items())
                if seed > seeds or not is_wanted or (*keys.values(), str(seed)) in done:
                    continue
                if time.monotonic() >= end:
                    return count
                values = self._ns2(runs, [*_arguments(runs, keys), f"seed={seed}"])
                with path.open("a", encoding="utf-8", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerow([*keys.values(), seed, *values])
                count += 1
        return count

    def table(self, table: Mapping[str, Any]) -> str:
        """The text of an `ns2.csv`. A value of one seed alone is left out: it has no interval."""
        keys, columns = table["keys"], table["columns"]
        published = self._root / "experiments" / table["experiment"] / "published.csv"
        lines, seeds = [], []
        for row in _rows(published, keys):
            fields, most = [], 0
            for column in columns:
                values = self._values(column, row, row[keys[0]])
                mean, half = estimate(values)
                most = max(most, len(values))
                fields += ["", ""] if math.isnan(half) else [digits(mean, 4), digits(half, 3)]
            seeds.append((row[keys[0]], most))
            lines += [",".join([*(row[key] for key in keys), *fields])] if any(fields) else []
        files = [name for name, _ in itertools.groupby(self._set(column["runs"])["file"] for column in columns)]
        about = f"ns-2.35, means over the seeds of {', '.join(files)} (tfrc-lab reference); seeds: {counted(seeds)}"
        names = [name for column in columns for name in (column["name"], f"{column['name']}_ci95")]
        head = [*(f"# {line}" for line in [*table["about"], about]), ",".join([*keys, *names])]
        return "\n".join([*head, *lines]) + "\n"

    def _set(self, name: str) -> dict[str, Any]:
        if name not in self.runs:
            raise BadExperiment(f"there is no set of runs {name!r}; there are {', '.join(sorted(self.runs))}")
        return self.runs[name]

    def _names(self, name: str) -> list[str]:
        runs = self._set(name)
        return [*runs["keys"], "seed", *(column.partition("=")[0] for column in runs["columns"])]

    def _values(self, column: Mapping[str, Any], row: Keys, first: str) -> list[float]:
        """The values of a cell, of the runs that have them."""
        if column.get("rows") and first not in column["rows"]:
            return []
        keys = {key: row[key] for key in self._set(column["runs"])["keys"] if key in row}
        keys |= column.get("where", {})
        of, over = (_filled(column[name], row) if name in column else None for name in ("of", "over"))
        found = []
        for run in self.read(column["runs"]):
            if all(run[key] == text for key, text in keys.items()):
                value, by = (1.0 if name is None else float(run[name] or "nan") for name in (of, over))
                found.append(value / by - column.get("less", 0.0))
        return [value for value in found if not math.isnan(value)]

    def _ns2(self, runs: Mapping[str, Any], arguments: Sequence[str]) -> list[str]:
        """Runs ns-2 once: the values of the set's columns, in their order."""
        command = ["nice", "-n", "10", "ns", str(self._scripts / runs["script"]), *arguments]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise BadExperiment(f"ns-2 does not run: {error}. Install Debian's package ns2") from None
        printed: dict[str, str] = {}
        for name, values in re.findall(r"^R (\S+) (.*)$", done.stderr, re.M):
            parts = values.split(",")
            # A list A,B,... is NAME_1, NAME_2 and so on.
            names = [name] if len(parts) == 1 else [f"{name}_{place}" for place in range(1, len(parts) + 1)]
            printed.update(zip(names, map(_short, parts)))
        if "losses_from" in runs:
            printed.update({name: _short(str(x)) for name, x in losses(done.stdout, runs["losses_from"]).items()})
        found = [printed.get(column.rpartition("=")[2], "") for column in runs["columns"]]
        if done.returncode != 0 or not any(found):
            raise BadExperiment(f"{' '.join(command[3:])}: {done.stderr.strip()}")
        return found


def losses(printed: str, start: float) -> dict[str, float]:
    """Statistics of the loss intervals of a TFRC flow of ns-2 that closed after a time, from what
    its receiver prints at each report (`printLoss_`): `p` is one over their mean, `p_hat` the mean
    of the loss event rate at the reports that a loss event caused. Nothing for fewer than two."""
    rate, before = math.nan, None
    intervals: list[float] = []
    rates: list[float] = []
    for line in printed.splitlines():
        if found := re.match(r"time: \S+ loss_rate: (\S+)", line):
            rate = float(found[1])
        # Of the samples, 0 is the open interval; the others are the newest closed ones.
        found = re.match(r"(\S+): sample 0:\s+\S+(.*)", line)
        if found is None:
            continue
        closed = [float(value) for value in re.findall(r"\d+:\s+(\S+)", found[2])]
        if before is not None and float(found[1]) > start:
            fresh = next(n for n in range(len(closed) + 1) if before[: len(closed) - n] == closed[n:])
            intervals += closed[:fresh]
            rates += [rate] if fresh and not math.isnan(rate) else []
        before = closed
    if len(intervals) < 2:
        return {}
    mean, (p10, p50, p90) = float(np.mean(intervals)), map(float, np.quantile(intervals, (0.1, 0.5, 0.9)))
    shape = {"interval_cv": variation(intervals), "interval_p10": p10, "interval_p50": p50, "interval_p90": p90}
    return {"p": 1.0 / mean, "p_hat": float(np.mean(rates)), "interval_mean": mean, **shape}


def digits(x: float, count: int) -> str:
    """A number of `count` significant digits, without zeros at the end."""
    places = max(count - math.floor(math.log10(abs(x))) - 1, 0) if x else 0
    written = f"{x:.{places}f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


def counted(seeds: Sequence[tuple[str, int]]) -> str:
    """The number of seeds: one, or each with the first keys of its rows. Rows without any are left
    out."""
    groups: dict[int, dict[str, None]] = {}
    for row, count in seeds:
        if count:
            groups.setdefault(count, {})[row] = None
    if len(groups) == 1:
        return str(next(iter(groups)))
    return "; ".join(f"{count} ({', '.join(rows)})" for count, rows in groups.items())


def _combined(keys: Sequence[str], points: Mapping[str, Any]) -> Iterator[Keys]:
    for texts in itertools.product(*(points[key] for key in keys)):
        yield dict(zip(keys, texts))


def _arguments(runs: Mapping[str, Any], keys: Keys) -> list[str]:
    """The arguments of the script; `words` stand for texts of keys that it does not take."""
    words = runs.get("words", {})
    return _filled(runs["arguments"], {key: words.get(text, text) for key, text in keys.items()}).split()


def _filled(text: str, keys: Keys) -> str:
    """A text with those of keys in place of `{KEY}`."""
    for key, value in keys.items():
        text = text.replace("{" + key + "}", value)
    return text


def _rows(published: Path, keys: Sequence[str]) -> list[Keys]:
    lines = [line for line in published.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return [{key: row[key].strip() for key in keys} for row in csv.DictReader(lines)]


def _short(text: str) -> str:
    """A number with six digits at most; any other text as it is."""
    try:
        return digits(float(text), 6)
    except ValueError:
        return text.strip()
