"""Runs experiments: every point of every row, seed, profile and variant.

A run is done once for all points that share it, in threads or by the workers of a Dask cluster, and
kept whole: a change of a measure or of a page runs nothing anew.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from .. import _native
from .experiment import FEWEST_CONTROLLED, PROFILES, BadExperiment, Column, Experiment, Profile, RunPlan, SeedRule
from .judge import Measured, Sample, Samples, judge, more_seeds, not_run
from .recording import Recording, Run
from .statistics import Known
from .store import Store, Task, computation
from .tables import Row

if TYPE_CHECKING:
    from distributed import Client


@dataclass
class Point:
    """One run of an experiment in one row, in one profile or variant, with several seeds."""

    experiment: Experiment
    part: str
    """A profile, or `variant NAME`."""
    plan: RunPlan
    row: Row
    columns: list[Column]
    scenario: str
    changes: list[str]
    identity: str
    seed: int
    """All that determines a run but its number."""
    seeds: int
    rule: Optional[SeedRule]
    is_controlled: bool = False
    """True if the scenario is as published, so that the expectations of controls hold."""
    cap: Optional[str] = None
    given: dict[int, tuple[dict[str, float], float]] = field(default_factory=dict)
    """Of each run, by its number: the values of the columns, and the packet hops."""

    def samples(self) -> Iterator[tuple[str, Column, Sample]]:
        """The values of each column in the runs that are done."""
        for column in self.columns:
            found = _sample([values[column.name] for values, _ in self.done], self)
            if self.is_controlled and column.control is not None and len(found.values) == found.runs:
                controls = [values[column.control.name] for values, _ in self.done]
                found.control = Known(controls, column.control.expected, column.control.error)
            yield self.row.name, column, found

    @property
    def done(self) -> list[tuple[dict[str, float], float]]:
        """The columns and the packet hops of each run of this point."""
        return [self.given[run] for run in range(1, self.seeds + 1)]


@dataclass
class Computed:
    """The rows and columns of an experiment that computes its values with seeds, all at once."""

    experiment: Experiment
    cells: list[tuple[str, Column]]
    seeds: int
    cap: Optional[str] = None
    done: list[tuple[Mapping[tuple[str, str], Any], float]] = field(default_factory=list)
    """Of each run: the values of the cells, and the packet hops."""

    def samples(self) -> Iterator[tuple[str, Column, Sample]]:
        """The values of each cell in the runs that are done."""
        for row, column in self.cells:
            values = [float(values.get((row, column.name), math.nan)) for values, _ in self.done]
            yield row, column, _sample(values, self)


def _sample(values: Sequence[float], of: Union[Point, Computed]) -> Sample:
    return Sample([value for value in values if math.isfinite(value)], len(of.done), cap=of.cap)


def run(
    experiments: Sequence[Experiment],
    *,
    quick: bool = False,
    jobs: int = 0,
    cache: Optional[Path] = None,
    client: Optional[Client] = None,
    report: Optional[Callable[[int, int], None]] = None,
    changes: Sequence[str] = (),
) -> dict[str, Any]:
    """Runs experiments in virtual time and judges them: the document of their results. `changes`
    are made to every scenario, after all others."""
    points = [point for one in experiments if one.world == "sim" for point in plan(one, quick, changes)]
    store, done = Store(cache), 0
    while tasks := _tasks(points):
        for task, recording in _do(list(tasks), store, jobs, client):
            for point in tasks[task]:
                point.given[task.run] = _values(point, recording)
            done += 1
            if report is not None:
                report(done, done + len(_tasks(points)))
        for experiment in experiments:
            _grow(experiment, [point for point in points if point.experiment is experiment])
    results = [
        _result(one, [point for point in points if point.experiment is one], quick, jobs, store, changes)
        for one in experiments
    ]
    return {"code_version": _native.code_version(), "quick": quick, "experiments": results}


def _fewer(experiment: Experiment, runs: int, quick: bool) -> int:
    return max(min(runs, experiment.quick.runs or 3) if quick else runs, 1)


def plan(experiment: Experiment, quick: bool, more: Sequence[str] = ()) -> Iterator[Point]:
    """The points of an experiment, each with its scenario read and checked."""
    if experiment.computed is not None:
        return
    profiles = PROFILES if experiment.judge == "bands" else PROFILES[:1]
    for profile in profiles:
        runs = _fewer(experiment, experiment.runs_of(profile), quick)
        rule = experiment.rule if profile == "as-published" and not quick else None
        yield from _part(experiment, profile, profile, quick, more, None, None, runs, rule)
    for variant in () if quick else experiment.variants:
        part = f"variant {variant.name}"
        rows, changes = experiment.row_names(variant.rows), [*variant.set, *more]
        yield from _part(
            experiment, part, variant.profile, quick, changes, rows, variant.only, max(variant.runs, 1), None
        )


def _part(
    experiment: Experiment,
    part: str,
    profile: Profile,
    quick: bool,
    changes: Sequence[str],
    rows: Optional[Sequence[str]],
    only: Optional[Sequence[str]],
    runs: int,
    rule: Optional[SeedRule],
) -> Iterator[Point]:
    alone = experiment.emulation.alone if experiment.emulation else ()
    short = experiment.quick.rows if quick else None
    for row, plan, columns in places(experiment, [rows, short], only, alone):
        more = [*(experiment.quick.set if quick else ()), *changes]
        all_changes = assignments(experiment, plan, profile, row, more)
        scenario = str((experiment.folder / plan.scenario).resolve())
        identity, seed, revisions = _native.identity("name", scenario, all_changes)
        if part == "as-published" and any(column.against != "ns2" for column in columns):
            _check_revision(experiment, f"run {plan.name}, row {row.name}", revisions)
        own = plan.runs is not None and part == "as-published"
        seeds = _fewer(experiment, plan.runs or runs, quick) if own else runs
        is_controlled = part == "as-published" and not more
        if rule is not None and is_controlled and any(column.control for column in columns):
            seeds = max(seeds, FEWEST_CONTROLLED)
        more_ = (identity, seed, seeds, rule, is_controlled)
        yield Point(experiment, part, plan, row, columns, scenario, all_changes, *more_)


def _check_revision(experiment: Experiment, about: str, revisions: Sequence[tuple[str, str]]) -> None:
    """Flows run the paper's revision of TFRC as published, but in runs for ns-2 alone."""
    wanted = experiment.paper.revision
    for flow, found in revisions:
        if wanted is not None and found != wanted:
            raise BadExperiment(f"{experiment.id}, {about}: flow {flow} runs revision {found}; the paper's is {wanted}")


def places(
    experiment: Experiment,
    rows: Iterable[Optional[Sequence[str]]],
    only: Optional[Sequence[str]],
    without: Sequence[str] = (),
) -> Iterator[tuple[Row, RunPlan, list[Column]]]:
    """The rows that are in all of these lists (None for every row) but not in `without`, with the
    runs `only`, all for None, and the columns that each measures there."""
    wanted = [experiment.row_names(some) or [] for some in rows if some is not None]
    left = experiment.row_names(without) or []
    for row in experiment.published.rows:
        for plan in experiment.plans.values():
            of_plan = experiment.row_names(plan.rows)
            lists = [*wanted, *([] if of_plan is None else [of_plan])]
            if row.name in left or any(row.name not in some for some in lists) or plan.name not in (only or [plan.name]):
                continue
            of_run = [one for one in experiment.columns_.values() if one.run in (None, plan.name)]
            columns = [one for one in of_run if experiment.measures(one, row.name)]
            if columns:
                yield row, plan, columns


def assignments(
    experiment: Experiment, plan: RunPlan, profile: Profile, row: Row, more: Iterable[str]
) -> list[str]:
    """The changes to the scenario of a point, in their order."""
    return [*(change for change, _ in origins(experiment, plan, profile, row)), *more]


def origins(
    experiment: Experiment, plan: RunPlan, profile: Profile, row: Row
) -> Iterator[tuple[str, str]]:
    """The changes to the scenario of a point, in their order, each with the words for its origin."""
    keys = experiment.keys if plan.keys is None else plan.keys
    yield from ((one, "experiment") for one in (experiment.set if plan.scenario == experiment.scenario else ()))
    yield from ((one, f"profile {profile}") for one in experiment.profiles.get(profile, ()))
    yield from ((one, f"run {plan.name}") for one in plan.set)
    yield from ((one, f"run {plan.name}, profile {profile}") for one in plan.profiles.get(profile, ()))
    for key, text in zip(experiment.published.keys, row.keys):
        yield from ((f"{path}={text}", f"row {row.name}, {key}") for path in keys.get(key, ()))


def _tasks(points: Sequence[Point]) -> dict[Task, list[Point]]:
    """The runs that are wanted and not yet done. Points of any experiments share the runs of one
    scenario, and each is done once."""
    sharing: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        sharing[f"{point.identity}\nseed {point.seed}"].append(point)
    tasks: dict[Task, list[Point]] = {}
    for identity, users in sharing.items():
        keep = frozenset(word for user in users for word in user.plan.keep)
        for run in range(1, max(user.seeds for user in users) + 1):
            wanted = [user for user in users if run <= user.seeds and run not in user.given]
            if wanted:
                key = hashlib.sha256(f"{identity}\nrun {run}".encode()).hexdigest()
                task = Task(key, wanted[0].scenario, tuple(wanted[0].changes), run, keep)
                # What is done serves those that may ask for it later, too.
                tasks[task] = [user for user in users if run not in user.given]
    return tasks


def _record(task: Task) -> Recording:
    return Recording.of("name", task.scenario, list(task.changes), task.run, task.keep)


def _packed(task: Task) -> bytes:
    return _record(task).pack()


def _do(
    tasks: list[Task], store: Store, jobs: int, client: Optional[Client]
) -> Iterator[tuple[Task, Recording]]:
    missing = []
    for task in tasks:
        if (found := store.find(task)) is not None:
            yield task, found
        else:
            missing.append(task)
    for task, recording in _here(missing, jobs) if client is None else _there(missing, client):
        store.put(task, recording)
        yield task, recording


def _here(tasks: list[Task], jobs: int) -> Iterator[tuple[Task, Recording]]:
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs or -1, prefer="threads", return_as="generator_unordered")
    yield from parallel(delayed(lambda task: (task, _record(task)))(task) for task in tasks)


def _there(tasks: list[Task], client: Client) -> Iterator[tuple[Task, Recording]]:
    from distributed import as_completed

    futures = dict(zip(client.map(_packed, tasks, key=[task.key for task in tasks], pure=True), tasks))
    for future, packed in as_completed(list(futures), with_results=True):
        yield futures[future], Recording.unpack(packed)


def _values(point: Point, recording: Recording) -> tuple[dict[str, float], float]:
    """The values of a point's columns in a run; NaN stands for none."""
    keys = dict(zip(point.experiment.published.keys, point.row.keys))
    try:
        measured = dict(point.plan.measure(Run(recording, keys)))
    except ZeroDivisionError as error:
        raise ValueError(f"{point.experiment.id}, run {point.plan.name}, row {point.row.name}: {error}") from error
    values = {}
    controls = [column.control.name for column in point.columns if column.control is not None]
    for name in [column.name for column in point.columns] + controls:
        if name not in measured:
            raise ValueError(f"{point.experiment.id}: the run {point.plan.name} does not measure {name!r}")
        value = float(measured[name])
        values[name] = value if math.isfinite(value) else math.nan
    return values, float(recording.arrays["packet_hops"])


def _grow(experiment: Experiment, points: list[Point]) -> None:
    """More seeds, as the paper's rule asks for them."""
    for part in dict.fromkeys(point.part for point in points if point.rule is not None):
        of_part = [point for point in points if point.part == part]
        if of_part[0].rule is not None:
            more_seeds(experiment, of_part[0].rule, of_part)


def _result(
    experiment: Experiment, points: list[Point], quick: bool, jobs: int, store: Store, changes: Sequence[str]
) -> dict[str, Any]:
    if experiment.world == "emu":
        recorded = experiment.emulated is not None
        return judge(experiment, Measured(), 0) if recorded else not_run(experiment, "nothing is recorded")
    measured = Measured()
    fewest = _fewer(experiment, experiment.runs_of("as-published"), quick)
    if experiment.computed is not None:
        _compute(experiment, measured, fewest, quick, jobs, store, changes)
        return judge(experiment, measured, fewest)
    for point in points:
        is_variant = point.part.startswith("variant ")
        of = measured.variants if is_variant else measured.profiles
        samples = of.setdefault(point.part.removeprefix("variant "), {})
        for row, column, ours in point.samples():
            sample = samples.setdefault((row, column.name), Sample(cap=point.cap))
            sample.control = None if sample.runs else ours.control
            sample.runs, sample.values = sample.runs + ours.runs, [*sample.values, *ours.values]
        if point.part == "as-published":
            measured.packet_hops += int(sum(hops for _, hops in point.done))
    published = measured.profiles.get("as-published", {})
    runs = max([fewest, *(sample.runs for sample in published.values())])
    return judge(experiment, measured, runs)


def _compute(
    experiment: Experiment,
    measured: Measured,
    fewest: int,
    quick: bool,
    jobs: int,
    store: Store,
    more: Sequence[str],
) -> None:
    """The values of an experiment that computes them, by profile and by variant."""
    of_quick = experiment.quick.set if quick else ()
    rows = experiment.quick.rows if quick else None
    for profile in PROFILES if experiment.judge == "bands" else PROFILES[:1]:
        changes = [*experiment.profiles.get(profile, ()), *of_quick, *more]
        rule = experiment.rule if profile == "as-published" and not quick else None
        samples, hops = _computed(experiment, profile, changes, fewest, rule, rows, jobs, store)
        measured.profiles[profile] = samples
        measured.packet_hops += hops if profile == "as-published" else 0
    for variant in () if quick else experiment.variants:
        changes = [*experiment.profiles.get(variant.profile, ()), *variant.set, *more]
        of_variant = _computed(experiment, variant.profile, changes, variant.runs, None, variant.rows, jobs, store)
        measured.variants[variant.name] = of_variant[0]


def _computed(
    experiment: Experiment,
    profile: Profile,
    changes: list[str],
    runs: int,
    rule: Optional[SeedRule],
    rows: Optional[Sequence[str]],
    jobs: int,
    store: Store,
) -> tuple[Samples, int]:
    """The samples, and the packet hops that they took."""
    from joblib import Parallel, delayed

    def values(*seed: int) -> tuple[Mapping[tuple[str, str], Any], float]:
        assert experiment.computed is not None
        with computation(store) as runs:
            return experiment.computed(*about, *seed), runs.packet_hops

    about = (profile, experiment.published.rows, changes)
    wanted = set(experiment.row_names(rows) or [row.name for row in experiment.published.rows])
    cells = [
        (row.name, column)
        for row in experiment.published.rows
        for column in experiment.columns_.values()
        if row.name in wanted and experiment.measures(column, row.name)
    ]
    if not experiment.is_seeded:
        found, hops = values()
        places = [(row, column.name) for row, column in cells]
        return {place: Sample([float(found[place])], 1, is_fixed=True) for place in places if place in found}, int(hops)
    all_ = Computed(experiment, cells, runs)
    while missing := range(len(all_.done) + 1, all_.seeds + 1):
        parallel = Parallel(n_jobs=jobs or -1, prefer="threads")
        seeds = [_native.seed_of(1, run) for run in missing]
        all_.done += parallel(delayed(values)(seed) for seed in seeds)
        if rule is not None:
            more_seeds(experiment, rule, [all_])
    samples = {(row, column.name): sample for row, column, sample in all_.samples()}
    return samples, int(sum(hops for _, hops in all_.done))
