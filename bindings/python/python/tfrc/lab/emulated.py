"""The emulated side of experiments: each run by `tfrc emu`, next to the kernel's TCP, and recorded in
`emulated.csv` of the experiment."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, Callable, Optional

from .. import _native
from .experiment import BadExperiment, Column, Emulation, Experiment, Quick, RunPlan
from .recording import Recording, Run
from .runner import assignments, places
from .statistics import estimate
from .tables import EmulatedTable, Row

# Tries of a run that came not near enough to its network.
TRIES = 2
NAMES = ("row", "run", "column", "mean", "ci95", "runs", "note")
# The parts of a run's fidelity that are written, in their order.
FIDELITY = (
    "rate_error", "programs_waited", "kernel_waited", "stolen", "delay_error_p50_s", "delay_error_p99_s",
    "wakeup_p50_s", "wakeup_p99_s", "own_drops", "overruns",
)  # fmt: skip


def record(
    experiment: Experiment,
    *,
    quick: bool = False,
    jobs: int = 1,
    program: Optional[Path] = None,
    cache: Optional[Path] = None,
    report: Optional[Callable[[int, int], None]] = None,
) -> str:
    """Does the emulated runs of an experiment, `jobs` at once; the text of its `emulated.csv`.
    A run that gets too little of the processors is no result, whatever else goes on.

    Runs that were done on this kernel come from the cache, so that a recording goes on where it was.
    """
    if experiment.emulation is None:
        raise BadExperiment(f"{experiment.id} has no emulated side")
    program = program or _program()
    if experiment.emulation.recorder is not None:
        return _by_recorder(experiment, experiment.emulation.recorder, program, quick, jobs)
    points = list(_points(experiment, experiment.emulation, quick))
    runs = _runs(experiment, experiment.emulation, quick)
    about: dict[str, Any] = {"days": [], "kernel": {}}
    lines: list[Sequence[Any]] = [NAMES]
    pool = ThreadPoolExecutor(max(jobs, 1))
    try:
        tasks = [(plan, changes, run) for _, plan, _, changes in points for run in range(1, runs + 1)]
        answers = pool.map(lambda task: _answer(program, experiment, task[0], task[1], task[2], cache), tasks)
        for number, (row, plan, columns, _) in enumerate(points):
            found = []
            for one in islice(answers, runs):
                found.append(one)
                if report is not None:
                    report(number * runs + len(found), len(tasks))
            lines += _lines(experiment, row, plan, columns, found, about)
    finally:
        pool.shutdown(cancel_futures=True)
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows(lines)
    return _head(experiment, about) + table.getvalue()


def _by_recorder(experiment: Experiment, recorder: str, program: Path, quick: bool, jobs: int) -> str:
    words = [sys.executable, str(experiment.folder / recorder), "--tfrc", str(program), "--jobs", str(jobs)]
    words += ["--quick"] if quick else []
    done = subprocess.run(words, stdout=subprocess.PIPE, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise BadExperiment(f"{experiment.id}: {recorder} ended with {done.returncode}")
    return done.stdout


def _program() -> Path:
    found = os.environ.get("TFRC_PROGRAM") or shutil.which("tfrc")
    if found is None:
        raise BadExperiment("there is no program tfrc in PATH: cargo install --path crates/cli, or give --program")
    return Path(found)


def _quick(experiment: Experiment, emulation: Emulation) -> Quick:
    return experiment.quick if emulation.quick is None else emulation.quick


def _runs(experiment: Experiment, emulation: Emulation, quick: bool) -> int:
    most = _quick(experiment, emulation).runs or 1
    return max(min(emulation.runs, most) if quick else emulation.runs, 1)


def _points(
    experiment: Experiment, emulation: Emulation, quick: bool
) -> Iterator[tuple[Row, RunPlan, list[Column], list[str]]]:
    short = _quick(experiment, emulation)
    more = [*(short.set if quick else ()), *emulation.set]
    rows = [emulation.rows, short.rows if quick else None]
    for row, plan, columns in places(experiment, rows, emulation.only):
        yield row, plan, columns, assignments(experiment, plan, emulation.profile, row, more)


def _answer(
    program: Path, experiment: Experiment, plan: RunPlan, changes: list[str], run: int, cache: Optional[Path]
) -> dict[str, Any]:
    """The outcome of a run: its `arrays` and `day`, or the reason `why` there is none."""
    job = _native.emulation_job(str(experiment.folder / plan.scenario), changes, run, list(plan.keep))
    kept = None if cache is None else cache / "emulated" / _key(job)
    if kept is not None and kept.exists():
        answer = json.loads(kept.read_text(encoding="utf-8"))
        return {"arrays": _native.emulated(answer["answer"], list(plan.keep)), "day": answer["day"]}
    violations: list[str] = []
    for _ in range(TRIES):
        done = subprocess.run([program, "emu", "--job"], input=job, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return {"why": f"failed: {' '.join(done.stderr.split()) or f'tfrc emu: status {done.returncode}'}"}
        arrays = _native.emulated(done.stdout, list(plan.keep))
        violations = arrays["violations"]
        if not violations:
            day = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                part = kept.with_suffix(".part")
                part.write_text(json.dumps({"answer": done.stdout, "day": day}), encoding="utf-8")
                part.replace(kept)
            return {"arrays": arrays, "day": day}
    return {"why": f"invalid: {', '.join(violations)}"}


def _key(job: str) -> str:
    """All but the program that determines a run, wherever its file is."""
    import hashlib

    about = {name: value for name, value in json.loads(job).items() if name not in ("name", "folder")}
    text = f"{os.uname().release}\n{json.dumps(about, sort_keys=True)}"
    return hashlib.sha256(text.encode()).hexdigest()


def _lines(
    experiment: Experiment,
    row: Row,
    plan: RunPlan,
    columns: Sequence[Column],
    found: Sequence[dict[str, Any]],
    about: dict[str, Any],
) -> Iterator[Sequence[Any]]:
    valid = [one["arrays"] for one in found if "arrays" in one]
    about["days"] += [one["day"] for one in found if "day" in one]
    about["kernel"].update(json.loads(valid[-1]["kernel"]) if valid else {})
    near = [json.loads(one["fidelity"]) for one in valid]
    for name in FIDELITY if near else ():
        parts = [one[name] for one in near if one.get(name) is not None]
        yield row.name, plan.name, f"fidelity.{name}", _text(max(parts, key=abs) if parts else math.nan), "", 0, ""
    keys = dict(zip(experiment.published.keys, row.keys))
    measured = [dict(plan.measure(Run(Recording(one), keys))) for one in valid]
    why = Counter(one["why"] for one in found if "why" in one)
    note = "; ".join(f"{count} of {len(found)} runs {reason}" for reason, count in sorted(why.items()))
    for column in columns:
        values = [float(one[column.name]) for one in measured if math.isfinite(one[column.name])]
        mean, ci95 = estimate(values)
        yield row.name, plan.name, column.name, _text(mean), _text(ci95), len(values), note


def _text(x: float) -> str:
    return "" if math.isnan(x) else repr(float(x)).removesuffix(".0")


def _head(experiment: Experiment, about: dict[str, Any]) -> str:
    kernel, days = about["kernel"], sorted(about["days"]) or ["never"]
    head = [f"Emulated runs of {experiment.id}, written by `tfrc-lab record`", f"kernel: {kernel.get('release', '?')}"]
    head += [f"first day: {days[0]}", f"last day: {days[-1]}"]
    head += [f"{name}: {value}" for name, value in sorted(kernel.get("notes", {}).items())]
    return "".join(f"# {line}\n" for line in head)


def worst(table: EmulatedTable) -> str:
    """The worst fidelity of the runs of a recording, in words."""

    def of(name: str) -> float:
        values = [abs(one[name]) for one in table.fidelity.values() if not math.isnan(one.get(name, math.nan))]
        return max(values, default=math.nan)

    if not table.fidelity:
        return "no valid run"
    busy = "no link was busy" if math.isnan(of("rate_error")) else f"rates within {of('rate_error') * 100:.2f} %"
    p50, p99 = (of(f"delay_error_{name}_s") * 1e3 for name in ("p50", "p99"))
    return (
        f"{busy}, delays within {p50:.2f} ms (median) and {p99:.2f} ms (99th percentile), "
        f"{of('own_drops'):.0f} packets lost by the emulator"
    )
