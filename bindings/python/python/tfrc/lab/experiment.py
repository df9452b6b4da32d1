"""An experiment: what is run, what is measured, what is claimed."""

from __future__ import annotations

import fnmatch
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Optional

import numpy as np

from .recording import Run
from .store import under_way
from .tables import EmulatedTable, Table, read, read_emulated
from .verdict import BANDS, FEWEST_RUNS

if TYPE_CHECKING:
    from pandas import DataFrame

Profile = Literal["as-published", "rfc"]
World = Literal["sim", "emu"]
Measure = Callable[[Run], Mapping[str, float]]
PROFILES: tuple[Profile, Profile] = ("as-published", "rfc")


class BadExperiment(ValueError):
    """An experiment that contradicts itself or its tables."""


# Seeds below which a control is not used; the share of cells that the looks of a rule may misjudge.
FEWEST_CONTROLLED, MISJUDGED = 20, 0.005


@dataclass(frozen=True)
class Control:
    """A quantity that a run measures under `name`, whose expectation is known, with the standard error
    of that expectation. The mean of a column is corrected by it."""

    name: str
    expected: float
    error: float = 0.0


@dataclass(frozen=True)
class SeedRule:
    """The number of seeds of a point: `least` first, then twice as many as often as a cell is neither
    precise nor decided, to `most`; together not above `hops` packet hops. A cell is precise if its
    interval is at most a `part`-th of its band, and decided if an interval at the corrected `level`
    lies inside or outside of the band. `open_seeds` is one last step for points with an undetermined
    cell, up to `open_hops`."""

    least: int
    most: int
    hops: float
    part: float
    open_seeds: int = 0
    open_hops: float = 0.0

    def __post_init__(self) -> None:
        if not (FEWEST_RUNS <= self.least <= self.most and self.part >= 1.0):
            raise BadExperiment(f"{self}: at least {FEWEST_RUNS} seeds, most >= least, part >= 1")

    def level(self, seeds: int) -> float:
        """The share of cells, 0 to 1, that the look at this number of seeds may misjudge: the increment
        of the spending function of Lan and DeMets (1983, of Pocock's type) since the look before. The
        sum is a bound for any dependence between the looks."""
        looks = [min(self.least << step, self.most) for step in range((self.most // self.least).bit_length() + 1)]
        before = max((look for look in looks if look < seeds), default=0)
        now, then = (math.log1p((math.e - 1) * min(count / self.most, 1.0)) for count in (seeds, before))
        return MISJUDGED * (now - then)


@dataclass(frozen=True)
class Paper:
    """The common part of a publication's experiments: its name, the rule of seeds, the revision of
    TFRC that its flows run as published; and for the head of results.md what of it holds, what does
    not, and what cannot be known. Where `own`, nothing is published: the reference is a recording
    by this project."""

    source: str
    seeds: Optional[SeedRule] = None
    revision: Optional[str] = None
    holds: Optional[str] = None
    fails: Optional[str] = None
    unknown: Optional[str] = None
    own: bool = False


@dataclass(frozen=True)
class Quick:
    """The quick form: fewer runs, rows and seconds; too few for verdicts."""

    runs: Optional[int] = None
    set: Sequence[str] = ()
    rows: Optional[Sequence[str]] = None


@dataclass(frozen=True)
class Column:
    """A column and how it is judged."""

    name: str
    run: Optional[str]
    band: str
    against: str
    read_off: float
    rows: Optional[Sequence[str]]
    ns2_only_rows: Sequence[str]
    uninformative: Optional[tuple[Callable[..., bool], str]]
    control: Optional[Control]
    printed_runs: Optional[int]
    prefix: str

    @property
    def printed(self) -> str:
        """The column of the tables that it is compared with."""
        return self.name.removeprefix(self.prefix)


@dataclass(frozen=True)
class RunPlan:
    """One simulation for each row."""

    name: str
    measure: Measure
    scenario: str
    set: Sequence[str]
    keys: Optional[Mapping[str, Sequence[str]]]
    rows: Optional[Sequence[str]]
    runs: Optional[int]
    profiles: Mapping[str, Sequence[str]]
    keep: Sequence[str]


@dataclass(frozen=True)
class Claim:
    """A sentence with a check: a value of the table that lies between two bounds."""

    text: str
    value: Callable[[Any], float]
    between: tuple[float, float]
    profile: Profile
    world: World
    undecidable: Optional[str]
    evidence: Optional[str]


@dataclass(frozen=True)
class Variant:
    """The experiment once more with other settings."""

    name: str
    about: str
    set: Sequence[str]
    rows: Optional[Sequence[str]]
    only: Optional[Sequence[str]]
    runs: int
    profile: Profile


@dataclass(frozen=True)
class Emulation:
    """The emulated side. Where the senders are programs of others, `recorder` is the experiment's own
    program: Python runs it with `--tfrc PROGRAM --jobs N`, and `--quick` of the quick form, and it
    prints the text of `emulated.csv`."""

    set: Sequence[str] = ()
    profile: Profile = "rfc"
    runs: int = 1
    rows: Optional[Sequence[str]] = None
    only: Optional[Sequence[str]] = None
    alone: Sequence[str] = ()
    quick: Optional[Quick] = None
    recorder: Optional[str] = None


@dataclass
class Experiment:
    """An experiment of a publication, or of one's own.

    `scenario` is a file, from the folder of the experiment: its own, or a network that the figures of
    a paper share. `set` are the changes that make that network the experiment's. `keys` has, for each
    key column of `published.csv`, the paths of the scenario that its text is assigned to. `profiles`
    are the changes for the two profiles: `as-published` is judged, `rfc` (the defaults of the core)
    is printed next to it. `judge="welch"` compares the whole table with ns-2's runs by Welch's test.
    With `ns2_seeds` seeds ns-2 has as many as it gets: a cell whose value of ns-2 is less sure than
    its band is wide then says nothing.
    """

    paper: Paper
    place: str
    title: str
    keys: Mapping[str, Sequence[str]]
    scenario: str = "scenario.toml"
    set: Sequence[str] = ()
    profiles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rfc_runs: Optional[int] = None
    quick: Quick = Quick()
    world: World = "sim"
    must_agree: bool = False
    long: bool = False
    runs: Optional[int] = None
    deterministic: bool = False
    judge: Literal["bands", "welch"] = "bands"
    ignored: Mapping[str, str] = field(default_factory=dict)
    emulation: Optional[Emulation] = None
    ns2_seeds: Optional[int] = None

    id: str = field(default="", init=False)
    folder: Path = field(default=Path(), init=False)
    plans: dict[str, RunPlan] = field(default_factory=dict, init=False)
    columns_: dict[str, Column] = field(default_factory=dict, init=False)
    claims: list[Claim] = field(default_factory=list, init=False)
    variants: list[Variant] = field(default_factory=list, init=False)
    computed: Optional[Callable[..., Mapping[tuple[str, str], Any]]] = field(default=None, init=False)
    is_seeded: bool = field(default=False, init=False)
    drawing: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = field(default_factory=list, init=False)
    published: Table = field(init=False, repr=False)
    ns2: Optional[Table] = field(default=None, init=False, repr=False)
    emulated: Optional[EmulatedTable] = field(default=None, init=False, repr=False)

    @property
    def source(self) -> str:
        """The publication, with the place in it."""
        return ", ".join(part for part in (self.paper.source, self.place) if part)

    @property
    def scenarios(self) -> list[Path]:
        """The files of the scenarios that are run."""
        names = sorted({plan.scenario for plan in self.plans.values()} | {self.scenario})
        return [path for name in names if (path := (self.folder / name).resolve()).exists()]

    def run(self, measure: Any = None, /, **options: Any) -> Any:
        """Adds a run, whose name is that of the function: from a `Run` it measures columns.

        Options: `name`; `scenario` in place of the experiment's, without the changes that the
        experiment makes to its own; `set`, changes of it; `keys` in place of the experiment's;
        `rows`, if not all; `runs`, seeds as published; `profiles`, changes of a profile for this run
        alone; `keep`, of `looks` and `link_flows`.
        """
        if measure is None:
            return lambda measure: self.run(measure, **options)
        name = options.pop("name", measure.__name__)
        if name in self.plans:
            raise BadExperiment(f"the run {name} is there twice")
        defaults: dict[str, Any] = {
            "scenario": self.scenario, "set": (), "keys": None, "rows": None, "runs": None,
            "profiles": {}, "keep": (),
        }  # fmt: skip
        if unknown := [option for option in options if option not in defaults]:
            raise TypeError(f"a run has no option {unknown[0]!r}; it has {', '.join(defaults)}")
        self.plans[name] = RunPlan(name, measure, **{**defaults, **options})
        return measure

    def compute(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Makes the values a computation: `function(profile, rows, changes)` returns a value for each
        row and column; `changes` are those of the profile, of the quick form and of a variant."""
        self.computed = function
        return function

    def compute_each(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Makes the values a computation with a seed: `function(profile, rows, changes, seed)` is
        called for each seed that the rule asks for."""
        self.computed, self.is_seeded = function, True
        return function

    def courses(self, changes: Sequence[str], seed: int, interval: float) -> dict[str, DataFrame]:
        """Runs the experiment's scenario for a computation: the course of each flow, in stretches of
        `interval` seconds."""
        found = under_way().series(str(self.folder / self.scenario), [*self.set, *changes], seed, interval)
        return {str(name): course for name, course in found.table.groupby("flow")}

    def curves(self, *columns: str, **options: Any) -> None:
        """Gives the figure the form of its paper: panels as `tfrc.lab.figure.Page.curves` draws them."""
        self.drawing.append(("curves", columns, options))

    def across(self, prefix: str, **options: Any) -> None:
        """Adds a panel to the figure, as `tfrc.lab.figure.Page.across` draws it."""
        self.drawing.append(("across", (prefix,), options))

    def trace(self, title: str, run: str, **options: Any) -> None:
        """Adds a panel to the figure, as `tfrc.lab.figure.Page.trace` draws it."""
        self.drawing.append(("trace", (title, run), options))

    def columns(
        self,
        *names: str,
        run: Optional[str] = None,
        band: Optional[str] = None,
        against: Literal["either", "published", "ns2"] = "either",
        read_off: float = 0.0,
        rows: Optional[Sequence[str]] = None,
        ns2_only_rows: Sequence[str] = (),
        uninformative: Optional[tuple[Callable[..., bool], str]] = None,
        control: Optional[Control] = None,
        printed_runs: Optional[int] = None,
        prefix: str = "",
    ) -> None:
        """Adds columns. `band` is the difference that is allowed; `read_off` what reading a curve
        adds to it. `uninformative` is a rule of (measured, published, ns2) by which a cell says
        nothing, with the reason. `control` corrects the mean; `printed_runs` is the number of runs
        that the print is the mean of. The tables have the columns without the `prefix`."""
        band = band or ("rate" if self.computed is None else "digits")
        if band not in BANDS:
            raise BadExperiment(f"band {band!r}; there are {', '.join(BANDS)}")
        for name in names:
            if name in self.columns_:
                raise BadExperiment(f"the column {name} is there twice")
            parts = (band, against, read_off, rows, ns2_only_rows, uninformative, control, printed_runs)
            self.columns_[name] = Column(name, run, *parts, prefix)

    def claim(
        self,
        text: str,
        value: Optional[Callable[[Any], float]] = None,
        between: tuple[float, float] = (float("nan"), float("nan")),
        *,
        profile: Profile = "as-published",
        world: Optional[World] = None,
        undecidable: Optional[str] = None,
        evidence: Optional[str] = None,
    ) -> Any:
        """Adds a claim on the table of means: `value`, which is given a `Means`, lies `between` two
        bounds. `claim(text)` waits for the rest: `claim(text)(value, between=(1, 2))`."""
        if value is None:
            return functools.partial(self.claim, text)
        if not between[0] <= between[1]:
            raise BadExperiment(f"{text}: between {between[0]} and {between[1]} there is nothing")
        self.claims.append(Claim(text, value, between, profile, world or self.world, undecidable, evidence))

    def variant(
        self,
        name: str,
        about: str,
        set: Sequence[str],
        *,
        rows: Optional[Sequence[str]] = None,
        only: Optional[Sequence[str]] = None,
        runs: int = 3,
        profile: Profile = "as-published",
    ) -> None:
        """Adds a variant; `about` begins with `assumed: ` or `explains: `."""
        if not about.startswith(("assumed: ", "explains: ")):
            raise BadExperiment(f'variant {name}: what for? "assumed: link.path.delay" or "explains: what it shows"')
        self.variants.append(Variant(name, about, set, rows, only, runs, profile))

    def settle(self, id: str, folder: Path) -> Experiment:
        """Reads the tables of the folder and checks all against each other."""
        self.id, self.folder = id, folder
        keys = list(self.keys)
        self.published = read(folder / "published.csv", keys)
        ns2, emulated = folder / "ns2.csv", folder / "emulated.csv"
        self.ns2 = read(ns2, keys) if ns2.exists() else None
        self.emulated = read_emulated(emulated) if emulated.exists() else None
        if self.world == "emu" and self.emulation is None:
            self.emulation = Emulation(runs=self.runs or 1, quick=self.quick)
        if not self.plans and self.computed is None:
            raise BadExperiment(f"{id}: nothing is run")
        for column in self.columns_.values():
            if column.run is not None and column.run not in self.plans:
                raise BadExperiment(f"{id}: there is no run {column.run}")
        left = [name for name in self.published.columns if name not in self.columns_ and name not in self.ignored]
        if left:
            raise BadExperiment(f"{id}: the column {left[0]} of published.csv is compared with nothing")
        of_ns2 = self.ns2.columns if self.ns2 else ()
        compared = [one for one in self.columns_.values() if one.printed in self.published.columns]
        compared += [one for one in self.columns_.values() if one.against == "ns2" and one.printed in of_ns2]
        if not compared and len(self.claims) < 2:
            raise BadExperiment(f"{id}: nothing is compared, and there are fewer than two claims")
        for rows in (one.rows for some in (self.plans.values(), self.columns_.values(), self.variants) for one in some):
            self.row_names(rows)
        self.row_names(self.quick.rows)
        return self

    def row_names(self, patterns: Optional[Iterable[str]]) -> Optional[list[str]]:
        """The rows of these names, in which `*` stands for any text; None for all."""
        if patterns is None:
            return None
        known, found = [row.name for row in self.published.rows], []
        for pattern in patterns:
            fitting = [name for name in known if fits(pattern, name)]
            if not fitting:
                raise BadExperiment(f"{self.id}: there is no row {pattern!r}; there are {', '.join(known)}")
            found += fitting
        return found

    def measures(self, column: Column, row: str) -> bool:
        """True if a column is measured in a row: in those it is given, else in those with something
        to compare with; a column that has nothing anywhere is a probe, and measured in all."""
        if column.rows is not None:
            return row in (self.row_names(column.rows) or ())
        in_ns2 = self.ns2 is not None and (row, column.printed) in self.ns2.values
        if column.prefix and column.against == "ns2":
            return in_ns2
        return in_ns2 or column.printed not in self.published.columns or (row, column.printed) in self.published.values

    @property
    def first_runs(self) -> int:
        """Seeds of a point as published; of the first step if there is a rule."""
        rule = self.rule
        return max(self.runs or (rule.least if rule else 2 if self.deterministic else 10), 1)

    @property
    def rule(self) -> Optional[SeedRule]:
        """The paper's rule, unless the runs are deterministic or emulated."""
        own = [self.runs, *(plan.runs for plan in self.plans.values())]
        if self.paper.seeds is None or self.deterministic or self.world == "emu":
            return None
        if any(runs is not None for runs in own):
            raise BadExperiment(f"{self.id}: `runs`, and a rule of seeds of the paper: one of the two decides")
        return self.paper.seeds

    def runs_of(self, profile: str) -> int:
        """Seeds of each point of a profile."""
        return self.first_runs if profile == "as-published" else (self.rfc_runs or min(self.first_runs, 5))


def fits(pattern: str, text: str) -> bool:
    """True if a text fits a pattern, in which `*` stands for any text."""
    return fnmatch.fnmatchcase(text, pattern.replace("[", "[[]").replace("?", "[?]"))


class Means:
    """The table of means that claims look at: `t[row, column]`, and functions of a column. In the
    name of the row `*` stands for any text, if one row fits. A value that is not there is NaN."""

    def __init__(
        self,
        experiment: Experiment,
        get: Callable[[str, str], Optional[float]],
        emulated: Optional[EmulatedTable] = None,
    ) -> None:
        self._experiment, self._get, self._emulated = experiment, get, emulated

    def __getitem__(self, place: tuple[str, str]) -> float:
        row, column = place
        if column not in self._experiment.columns_:
            raise KeyError(f"there is no column {column!r}; there are {', '.join(self._experiment.columns_)}")
        rows = [one.name for one in self._experiment.published.rows if fits(row, one.name)]
        if len(rows) != 1:
            found = f"the rows {', '.join(rows)} all fit" if rows else "there is no row"
            raise KeyError(f"{found} {row!r} in published.csv")
        value = self._get(rows[0], column)
        return float("nan") if value is None else value

    def column(self, name: str) -> dict[str, float]:
        """The values of a column that are there, by row."""
        values = {row.name: self[row.name, name] for row in self._experiment.published.rows}
        return {row: value for row, value in values.items() if not np.isnan(value)}

    def of(self, name: str, function: Callable[[Any], Any]) -> float:
        """A function of the values of a column, such as `min` or `statistics.mean`; NaN of none."""
        values = list(self.column(name).values())
        return float(function(values)) if values else float("nan")

    def inside(self, name: str, band: float) -> float:
        """The share of rows whose value is within `band` of the emulated mean, as a part of it, or no
        further from it than one standard deviation of the emulated runs."""
        from .statistics import deviation_of

        def near(value: float, mean: float, ci95: float, runs: int) -> bool:
            spread = deviation_of(ci95, runs)
            return abs(value - mean) <= max(0.0 if np.isnan(spread) else spread, band * abs(mean))

        return self._share(name, near)

    def same_side(self, name: str, bound: float) -> float:
        """The share of rows whose value is on the side of the emulated mean: below −`bound`, above
        `bound` or between."""
        return self._share(name, lambda value, mean, *_: _side(value, bound) == _side(mean, bound))

    def _share(self, name: str, near: Callable[..., bool]) -> float:
        recorded = self._emulated.values if self._emulated else {}
        pairs = [(value, recorded.get((row, name))) for row, value in self.column(name).items()]
        near_ = [near(value, *one[:3]) for value, one in pairs if one is not None and not np.isnan(one.mean)]
        return sum(near_) / len(near_) if near_ else float("nan")


def _side(value: float, bound: float) -> int:
    return (value > bound) - (value < -bound)


def ratio(row: str, a: str, b: str) -> Callable[[Means], float]:
    """The value of a claim: in a row, column `a` over column `b`."""
    return lambda t: t[row, a] / t[row, b]
