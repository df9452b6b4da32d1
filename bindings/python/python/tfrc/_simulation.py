"""Scenarios in virtual time, and their results."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from ._custom import Agents, Queues, code
from ._progress import Progress, bar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]


@dataclass(frozen=True)
class BuiltInScenario:
    """A scenario that travels inside the package."""

    name: str
    """Its name, as `simulate` takes it."""
    about: str
    """A sentence about it."""
    text: str
    """Its text, TOML."""


def scenarios() -> list[BuiltInScenario]:
    """The built-in scenarios, in the order of their names."""
    return [BuiltInScenario(*one) for one in _native.scenarios()]


@dataclass(frozen=True)
class Simulation:
    """Results of a simulation: its document and its tables."""

    flows: _native.Table
    """Figures of each flow in each run over the measured time, with the keys of the document."""
    links: _native.Table
    """Figures of each direction of each link in each run over the measured time."""
    series: Optional[_native.Table]
    """Figures of each flow and link in each interval of each run; None if not asked for."""
    axes: dict[str, Optional[str]]
    """The sweeps: the path of each, which is a column of the tables, and the unit of its numbers
    ("" for plain ones); None for a column of words."""
    _text: str

    def to_json(self) -> str:
        """The document that `tfrc sim --json` prints for the same scenario and seed."""
        return self._text

    def json(self) -> dict[str, Any]:
        """The document of `to_json` as a dictionary."""
        document: dict[str, Any] = json.loads(self._text)
        return document

    def plot(
        self,
        *,
        x: Optional[str] = None,
        y: str = "goodput_bps",
        by: Union[str, Sequence[str], None] = None,
        run: int = 1,
        point: int = 1,
    ) -> Figure:
        """A figure of one run over time, or of a sweep.

        Without `x` it is of `run` at `point`: the goodput of each flow and the queue of each link.
        With an axis of a sweep as `x` it has the means of `y`, a column of `flows` or `links`, over
        runs with their 95 % intervals. A curve is of one kind of flow or one link, at one value of
        every other axis; `by` names other columns that set curves apart. The mean of a run is that
        over its flows.

        It needs matplotlib, which is in `tfrc[plot]`.
        """
        from ._plot import over, plot

        if x is not None:
            return over(self.flows, self.links, self.axes, x, y, by)
        if self.series is None:
            raise ValueError("no time series: call simulate with an interval, such as interval=1.0")
        return plot(self.flows, self.series, run, point)

    def __repr__(self) -> str:
        return f"<tfrc.Simulation: {len(self.flows)} rows of flows, {len(self.links)} of links>"


def simulate(
    scenario: Scenario,
    *,
    seed: Optional[int] = None,
    set: Optional[Mapping[str, Any]] = None,
    runs: Optional[int] = None,
    jobs: int = 0,
    interval: Optional[float] = 1.0,
    progress: Progress = "auto",
    agents: Agents = None,
    queues: Queues = None,
) -> Simulation:
    """Runs a scenario in virtual time, all points of its sweeps with all runs.

    `scenario` is a path, the name of a scenario inside the package (see `scenarios`), the text of a
    scenario (a string of more than one line), or a dictionary of its form. `set` changes single
    values by their paths, such as `{"link.bottleneck.rate": "2Mbit/s"}`. `seed` and `runs` take the
    place of the scenario's own. `jobs` is the number of threads, 0 for one on each processor; the
    results do not depend on it. `interval` is that of the time series in seconds, None for none.

    `agents` has congestion controls for flows of `kind = "custom"` by the names that their
    `controller` says, `queues` queues for links with `queue = { custom = NAME }`: classes of the
    forms of `Controller` and `Queue`, or what else makes such an object when it is called. The runs
    go one after another then, and an exception of theirs ends them and is raised.

    Raises `ScenarioError` for a scenario that is not right; its text shows the place. Ctrl-C ends
    the runs.
    """
    kind, text = source(scenario)
    changes = [assignment(path, value) for path, value in (set or {}).items()]
    with bar(progress, "s") as report:
        native = _native.simulate(
            kind,
            text,
            changes,
            seed,
            runs,
            jobs,
            interval,
            report,
            code(agents, queues),
        )
    return Simulation(native.flows, native.links, native.series, dict(native.axes), native.text)


def source(scenario: Scenario, *, absolute: bool = False) -> tuple[str, str]:
    """The kind of a scenario and its text or name, as the native module takes them.

    With `absolute` a path holds in other folders too.
    """
    if isinstance(scenario, Mapping):
        return "json", json.dumps(scenario, allow_nan=False, default=_plain)
    if isinstance(scenario, os.PathLike):
        path = os.fspath(scenario)
        if absolute:
            return "name", os.path.abspath(path)
        # A path is never a name.
        return "name", path if os.path.dirname(path) else os.path.join(os.curdir, path)
    if isinstance(scenario, str):
        if "\n" in scenario:
            return "text", scenario
        is_path = absolute and os.path.exists(scenario)
        return "name", os.path.abspath(scenario) if is_path else scenario
    raise TypeError(f"a scenario is a path, text or a dictionary, not {type(scenario).__name__}")


def _plain(value: Any) -> Any:
    """A scalar or array of numpy as Python has it."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a scenario has no values of type {type(value).__name__}")


def assignment(path: str, value: Any) -> str:
    """A change as `--set` of the program takes it."""
    return f"{path}={value if isinstance(value, str) else written(value)}"


def written(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(k)} = {written(v)}" for k, v in value.items()) + "}"
    return written(_plain(value))
