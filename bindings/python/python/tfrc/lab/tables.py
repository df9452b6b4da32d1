"""Tables of published, of reference and of emulated values: CSV below `#` lines that say where it
comes from."""

from __future__ import annotations

import csv
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Optional

import numpy as np


class Printed(NamedTuple):
    """A number as it was printed, and half a unit of its last digit: what rounding may hide."""

    value: float
    half_unit: float


class Row(NamedTuple):
    """A row: its keys with `/` between, and each of them."""

    name: str
    keys: tuple[str, ...]


class Emulated(NamedTuple):
    """A cell of the emulated world: mean, half the width of its interval, valid runs, a remark."""

    mean: float
    ci95: float
    runs: int
    note: Optional[str]


@dataclass
class Table:
    """Values by row and column; a value that is not there is not in `values`."""

    keys: list[str]
    columns: list[str]
    rows: list[Row] = field(default_factory=list)
    values: dict[tuple[str, str], Printed] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seeds: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    """The values of each run where the table has a column `seed`."""

    def get(self, row: str, column: str) -> Optional[float]:
        found = self.values.get((row, column))
        return None if found is None else found.value


class BadTable(ValueError):
    """A table that cannot be read: file, line and what is wrong there."""


def printed(text: str) -> Optional[Printed]:
    """Reads a number, perhaps with an exponent or in per cent."""
    found = re.fullmatch(r"([+-]?\d*(?:\.(\d*))?)(?:[eE]([+-]?\d+))?\s*(%?)", text)
    if found is None or not any(c.isdigit() for c in found[1]):
        return None
    scale = 0.01 if found[4] else 1.0
    unit = 10.0 ** (int(found[3] or 0) - len(found[2] or ""))
    value = float(text.rstrip("% "))
    return Printed(value * scale, 0.5 * unit * scale) if math.isfinite(value) else None


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    for place, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            yield place, [line] if line.startswith("#") else [cell.strip() for cell in next(csv.reader([line]))]


def read(path: Path, keys: Sequence[str]) -> Table:
    """Reads a table whose first columns are these keys, in any order, and perhaps `seed`."""
    table, at = Table([], []), -1
    for place, fields in _lines(path):
        where = f"{path}:{place}"
        if fields[0].startswith("#"):
            table.notes += [fields[0].lstrip("#").strip()] if at < 0 else []
        elif at < 0:
            at = len(keys) + ("seed" in fields)
            table.keys, table.columns = fields[:at], fields[at:]
            if missing := [key for key in keys if key not in table.keys]:
                raise BadTable(f"{where}: the first columns are the keys {', '.join(keys)}; {missing[0]} is not there")
        elif len(fields) != at + len(table.columns):
            raise BadTable(f"{where}: {len(fields)} fields for {at + len(table.columns)} columns")
        else:
            _add(table, where, fields[:at], fields[at:])
    if at < 0:
        raise BadTable(f"{path}: the table is empty")
    return _over_seeds(table) if "seed" in table.keys else table


def _add(table: Table, where: str, keys: list[str], fields: list[str]) -> None:
    row = Row("/".join(keys), tuple(keys))
    if row in table.rows:
        raise BadTable(f"{where}: the row {row.name} is there twice")
    table.rows.append(row)
    for column, text in zip(table.columns, fields):
        value = printed(text)
        if value is not None:
            table.values[row.name, column] = value
        elif text:
            raise BadTable(f"{where}: {text!r} in column {column} is no number; leave it empty for no value")


def _over_seeds(table: Table) -> Table:
    """The means over the runs of each row."""
    at = table.keys.index("seed")
    runs: dict[tuple[str, str], list[float]] = defaultdict(list)
    rows = {}
    for row in table.rows:
        rest = row.keys[:at] + row.keys[at + 1 :]
        rows["/".join(rest)] = rest
        for column in table.columns:
            value = table.values.get((row.name, column))
            runs["/".join(rest), column] += [] if value is None else [value.value]
    means = {cell: Printed(float(np.mean(values)), 0.0) for cell, values in runs.items() if values}
    keys = [key for key in table.keys if key != "seed"]
    return Table(keys, table.columns, [Row(*row) for row in rows.items()], means, table.notes, dict(runs))


@dataclass
class EmulatedTable:
    """Recorded values of the emulated world."""

    about: dict[str, str] = field(default_factory=dict)
    values: dict[tuple[str, str], Emulated] = field(default_factory=dict)
    fidelity: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The kernel and the days."""
        first, last = self.about.get("first day", ""), self.about.get("last day", "")
        return f"Linux {self.about.get('kernel', '?')}, " + (first if first == last else f"{first} to {last}")


def read_emulated(path: Path) -> EmulatedTable:
    """Reads `emulated.csv`, which `tfrc-lab record` writes."""
    table, names = EmulatedTable(), None
    for place, fields in _lines(path):
        if fields[0].startswith("#"):
            name, colon, value = fields[0].lstrip("# ").partition(": ")
            table.about.update({name: value} if colon else {})
        elif names is None:
            names = fields
        else:
            line = dict(zip(names, fields))
            try:
                mean, ci95 = (float(line[key] or "nan") for key in ("mean", "ci95"))
                runs = int(line["runs"])
            except (KeyError, ValueError) as error:
                raise BadTable(f"{path}:{place}: {error} cannot stand here") from None
            if line["column"].startswith("fidelity."):
                table.fidelity.setdefault((line["row"], line["run"]), {})[line["column"][9:]] = mean
            else:
                cell = Emulated(mean, ci95, runs, line["note"] or None)
                table.values[line["row"], line["column"]] = cell
    return table
