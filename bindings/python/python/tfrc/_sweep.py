"""Sweeps of many runs: on the processors of one machine, or on a cluster by Dask."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Optional, Union

from . import _native
from ._custom import Agents, Code, Queues, code
from ._progress import Progress, bar
from ._simulation import Scenario, Simulation, assignment, source, written

if TYPE_CHECKING:
    from distributed import Client

Folder = Union[str, "os.PathLike[str]"]

# Tasks handed to the scheduler and not yet done: enough for thousands of workers, and few enough
# for a million runs.
AHEAD = 20_000
# Runs in one row group of Parquet.
TOGETHER = 500


@dataclass(frozen=True)
class _Task:
    """One run, and all that determines it."""

    kind: str
    written: str
    changes: tuple[str, ...]
    seed: Optional[int]
    run: int
    interval: Optional[float]
    # Controllers and queues of Python's, pickled; None without any.
    code: Optional[bytes]
    key: str


def sweep(
    scenario: Scenario,
    axes: Mapping[str, Sequence[Any]],
    runs: int = 1,
    *,
    seed: Optional[int] = None,
    set: Optional[Mapping[str, Any]] = None,
    interval: Optional[float] = None,
    client: Optional[Client] = None,
    jobs: int = 0,
    cache: Union[Folder, Literal["auto"], None] = "auto",
    out: Optional[Folder] = None,
    progress: Progress = "auto",
    agents: Agents = None,
    queues: Queues = None,
) -> Simulation:
    """Runs a scenario at each point of a grid, `runs` times each.

    `axes` has the values of each path, such as `{"link.bottleneck.rate": ["1Mbit/s", "2Mbit/s"]}`;
    the last axis changes fastest. In the tables an axis is a column of numbers in its SI unit where
    all of its values are quantities of one unit, and of words otherwise. `interval` asks for time
    series, in seconds; None is for none. `client` is that of a Dask cluster: each run is a task
    keyed by its content, and the runs of a lost worker are done again by others. Without it joblib
    runs them here, on `jobs` threads, 0 for one on each processor. It needs `tfrc[dask]`.

    `agents` and `queues` have congestion controls and queues of your own, as for `simulate`. They
    travel to the workers by cloudpickle; without a client joblib's runs are processes then.

    Runs that were done before come from the folder `cache`, the one of `tfrc sim --cache`; "auto" is
    the user's, None none. The client alone reads and writes it. Runs with time series, or with
    `agents` or `queues`, are not kept there. With `out` the figures of flows and links are written
    there as `flows.parquet` and `links.parquet`, run by run as they are done.

    The results are those of the program for the scenario with these sweeps, byte for byte.
    """
    if not axes or runs < 1:
        raise ValueError("a sweep has an axis, and runs at each point")
    kind, text = source(scenario, absolute=True)
    changes = [assignment(path, value) for path, value in (set or {}).items()]
    makers = code(agents, queues)
    own, _ = _native.points(kind, text, changes, makers)
    if len(own) != 1 or own[0]:
        raise ValueError("the scenario has sweeps of its own: give them as axes")
    whole = [*changes, _sweep_assignment(axes)]
    # Finds mistakes of all points before anything runs.
    points, groups = _native.points(kind, text, whole, makers)
    tasks = list(_tasks(kind, text, changes, axes, seed, runs, interval, makers))
    done = [""] * len(tasks)
    places: dict[str, list[int]] = {}
    for place, task in enumerate(tasks):
        places.setdefault(task.key, []).append(place)
    # The cache has outcomes without their course, of the simulator's own code.
    store = _Store(_folder(cache) if interval is None and tasks[0].code is None else None)
    with closing(_Parquet(out, points, groups, runs)) as parquet:

        def keep(key: str, outcome: str) -> None:
            for place in places[key]:
                done[place] = outcome
                parquet.add(place, outcome)

        with bar(progress, "run") as report:
            wanted = []
            for key, [first, *_] in places.items():
                if (known := store.find(key, tasks[first].run)) is not None:
                    keep(key, known)
                else:
                    wanted.append(tasks[first])
            count = len(places) - len(wanted)
            for key, outcome in _here(wanted, jobs) if client is None else _there(wanted, client):
                store.put(key, outcome)
                keep(key, outcome)
                count += 1
                if report is not None:
                    report(count, len(places))
    native = _native.assemble(kind, text, whole, seed, runs, done, makers)
    return Simulation(native.flows, native.links, native.series, dict(native.axes), native.text)


def _sweep_assignment(axes: Mapping[str, Sequence[Any]]) -> str:
    """The sweeps of a scenario, as `--set` of the program takes them."""
    tables = [{"set": path, "values": list(values)} for path, values in axes.items()]
    return f"sweep={written(tables)}"


def _tasks(
    kind: str,
    text: str,
    changes: list[str],
    axes: Mapping[str, Sequence[Any]],
    seed: Optional[int],
    runs: int,
    interval: Optional[float],
    makers: Code,
) -> Iterator[_Task]:
    """The runs of each point in turn."""
    pickled = _pickled(makers) if any(makers) else None
    # A worker may have a result of the same key, from code that was changed since.
    mark = "" if pickled is None else f"-{uuid.uuid4().hex}"
    for values in itertools.product(*axes.values()):
        here = [*changes, *(f"{path}={written(value)}" for path, value in zip(axes, values))]
        for run, key in enumerate(_native.keys(kind, text, here, seed, runs, makers), 1):
            if interval is not None:
                key = f"{key}-{interval!r}s"
            yield _Task(kind, text, tuple(here), seed, run, interval, pickled, key + mark)


def _pickled(makers: Code) -> bytes:
    import cloudpickle

    try:
        pickled: bytes = cloudpickle.dumps(makers)
    except Exception as error:
        help = "open files, sockets and locks in its methods, not before"
        raise TypeError(f"agents and queues have to travel to the workers: {error}; {help}") from error
    return pickled


# The code of the last task, of which there are many in a row.
_LAST: dict[bytes, Code] = {}


def _unpickled(pickled: bytes) -> Code:
    found = _LAST.get(pickled)
    if found is None:
        found = pickle.loads(pickled)
        _LAST.clear()
        _LAST[pickled] = found
    return found


def _run(task: _Task) -> tuple[str, str]:
    changes, makers = list(task.changes), code(None, None) if task.code is None else _unpickled(task.code)
    outcome = _native.run_one(task.kind, task.written, changes, task.seed, task.run, task.interval, makers)
    return task.key, outcome


def _here(tasks: list[_Task], jobs: int) -> Iterable[tuple[str, str]]:
    """Done on this machine; a run of the simulator's own code leaves Python's lock alone, so that
    threads are enough for it."""
    from joblib import Parallel, delayed

    kind = "threads" if all(task.code is None for task in tasks) else "processes"
    parallel = Parallel(n_jobs=jobs or -1, prefer=kind, return_as="generator_unordered")
    outcomes: Iterable[tuple[str, str]] = parallel(delayed(_run)(task) for task in tasks)
    return outcomes


def _there(tasks: list[_Task], client: Client) -> Iterator[tuple[str, str]]:
    """Done by the workers of a cluster."""
    from distributed import as_completed

    rest = iter(tasks)
    pending = as_completed(with_results=True)

    def submit(count: int) -> None:
        # One message for many tasks: a message costs more than a short run.
        if some := list(itertools.islice(rest, count)):
            pending.update(client.map(_run, some, key=[task.key for task in some], pure=True))

    submit(AHEAD)
    done = 0
    try:
        for batch in pending.batches():
            for _, result in batch:
                yield result
            done += len(batch)
            if done >= AHEAD // 2:
                submit(done)
                done = 0
    finally:
        client.cancel(list(pending.futures))


def _folder(cache: Union[Folder, None]) -> Optional[Path]:
    if cache == "auto":
        found = _native.user_cache()
        return None if found is None else Path(found)
    return None if cache is None else Path(cache)


class _Store:
    """Runs that were done, by their keys: the program's cache; nothing without a folder.

    Several sweeps and programs can share the folder.
    """

    def __init__(self, folder: Optional[Path]) -> None:
        self._cache = None if folder is None else _native.RunCache(str(folder))
        self._folder = folder

    def find(self, key: str, run: int) -> Optional[str]:
        return None if self._cache is None else self._cache.find(key, run)

    def put(self, key: str, outcome: str) -> None:
        """Keeps a run. A full disk ends the cache, not the sweep."""
        if self._cache is None:
            return
        try:
            self._cache.put(key, outcome)
        except OSError as error:
            lost = "this run and those to come are not kept there"
            warnings.warn(f"the cache {self._folder}: {error}; {lost}", RuntimeWarning, stacklevel=4)
            self._cache = None


class _Parquet:
    """Figures of flows and links as Parquet, written while they come; nothing without a folder."""

    def __init__(
        self,
        folder: Optional[Folder],
        points: list[list[tuple[str, str]]],
        groups: list[list[str]],
        runs: int,
    ) -> None:
        self._folder = None if folder is None else Path(folder)
        self._points, self._groups, self._runs = points, groups, runs
        self._axes = _native.axes_of_points(points)
        self._rows: dict[str, list[dict[str, Any]]] = {"flows": [], "links": []}
        self._writers: dict[str, Any] = {}
        self._waiting = 0
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)

    def add(self, place: int, outcome: str) -> None:
        if self._folder is None:
            return
        point = place // self._runs
        # A second line has the time series.
        document = json.loads(outcome.split("\n", 1)[0])
        head = {"run": document["run"], "point": point + 1, "seed": document["seed"]}
        for (name, unit), (_, value) in zip(self._axes, self._points[point]):
            head[name] = value if unit is None else _native.quantity(value)
        for flow, group in zip(document["flows"], self._groups[point]):
            flow["group"] = group
        for kind, rows in self._rows.items():
            rows.extend({**head, **one} for one in document[kind])
        self._waiting += 1
        if self._waiting >= TOGETHER:
            self._write()

    def _write(self) -> None:
        if self._folder is None:
            return
        import pyarrow
        import pyarrow.parquet

        for kind, rows in self._rows.items():
            schema = self._schema(kind)
            if kind not in self._writers:
                file = self._folder / f"{kind}.parquet"
                self._writers[kind] = pyarrow.parquet.ParquetWriter(file, schema)
            self._writers[kind].write_table(pyarrow.Table.from_pylist(rows, schema=schema))
            rows.clear()
        self._waiting = 0

    def _schema(self, kind: str) -> Any:
        """The columns of `Simulation.flows` or `Simulation.links`."""
        import pyarrow

        words = ["id", "kind", "group"] if kind == "flows" else ["id"]
        columns = [(name, pyarrow.uint64()) for name in ("run", "point", "seed")]
        columns += [(name, pyarrow.string() if unit is None else pyarrow.float64()) for name, unit in self._axes]
        columns += [(name, pyarrow.string()) for name in words]
        columns += [(name, pyarrow.float64()) for name in _native.quantities()[kind]]
        return pyarrow.schema(columns)

    def close(self) -> None:
        if self._folder is None:
            return
        if self._waiting or not self._writers:
            self._write()
        for writer in self._writers.values():
            writer.close()
