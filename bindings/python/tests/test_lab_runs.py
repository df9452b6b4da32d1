"""How experiments are run: sharing, going on, seeds, profiles, the emulated world, and what runs
anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_experiment import EXPERIMENT, SCENARIO, changed, load, put, runs_of

from tfrc import _native
from tfrc.lab import cli, emulated, library, runner
from tfrc.lab.experiment import BadExperiment
from tfrc.lab.judge import Measured, Sample, judge


@pytest.fixture
def native_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that the native module does, each by the name of its function."""
    done: list[str] = []
    for name in ("record", "run_one", "simulate"):

        def counted(*about: Any, name: str = name, plain: Any = getattr(_native, name)) -> Any:
            done.append(name)
            return plain(*about)

        monkeypatch.setattr(_native, name, counted)
    return done


def of(results: dict[str, Any], id: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in results["experiments"] if one["id"] == id)
    return found


TRACE = """
figure.curves("kbps")
figure.trace("Rates", "one", flows=["one"])
figure.trace("Queue", "one", link="path")
"""
COMPUTED = """
@figure.compute_each
def values(profile, rows, changes, seed):
    course = figure.courses(changes, seed, interval=0.5)["one"]
    return {(row.name, "kbps"): course.goodput_bps.mean() / 1000 for row in rows}
"""


def test_a_change_of_a_measure_a_claim_or_a_page_runs_nothing_anew(folder: Path, native_runs: list[str]) -> None:
    # Two rows of ten runs and a variant of three; traces of one run; a computation with ten seeds.
    program = EXPERIMENT + TRACE
    computation = program[: program.index("@figure.run")] + COMPUTED + 'figure.columns("kbps")\n'
    put(folder, experiment_py=program)
    put(folder, "p/y", experiment_py=computation)

    def page(to: str) -> str:
        command = ["--experiments", str(folder), "run", "all", "--jobs", "1", "--cache", str(folder / "cache")]
        assert cli.main([*command, "--out", str(folder / to)]) == 0
        return (folder / to / "p-x.html").read_text(encoding="utf-8")

    first = page("first")
    assert native_runs.count("record") == 23 and native_runs.count("simulate") == 1 + 10
    before = len(native_runs)
    program = program.replace('"send_rate_bps") / 1000', '"goodput_bps") / 1e3')
    put(folder, experiment_py=program)
    assert page("again") != first
    for old, new in [
        ("between=(0.1, 0.9)", "between=(0.5, 0.9)"),
        ('"falls"', '"falls steeply"'),
        ('figure.curves("kbps")', 'figure.curves("kbps", xlabel="drop rate", log="xy")'),
        ('band="drop"', 'band="share"'),
    ]:
        assert old in program
        program = program.replace(old, new)
    put(folder, experiment_py=program)
    put(folder, "p/y", experiment_py=computation.replace("goodput_bps.mean()", "goodput_bps.max()"))
    assert "falls steeply" in page("again") and len(native_runs) == before
    # A change of what is run does.
    put(folder, experiment_py=program.replace("rate=2Mbit/s", "rate=3Mbit/s"))
    page("again")
    assert len(native_runs) == before + 23 - 3 + 1, "but for the variant, which has a rate of its own"


def test_experiments_share_runs(folder: Path, native_runs: list[str]) -> None:
    alone = runner.run(load(folder), jobs=1)
    native_runs.clear()
    put(folder, "p/y", experiment_py=changed("runs=10", "runs=14").replace('"drop_rate"', '"utilization"'))
    both = runner.run(load(folder), jobs=1, cache=folder / "cache")
    # Two rows of four more runs; and both have the results that they have alone.
    assert len(native_runs) == 23 + 2 * 4 and of(both, "p/x") == alone["experiments"][0]
    assert runner.run(load(folder), jobs=1, cache=folder / "cache") == both
    [other] = runner.run(library.load(folder, ["p/y"]), jobs=1)["experiments"]
    assert other == of(both, "p/y") and len(native_runs) == 31 + 31


def test_an_interrupted_run_goes_on_where_it_was(folder: Path, native_runs: list[str]) -> None:
    cache = folder / "cache"

    def interrupt(done: int, _: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run(load(folder), jobs=1, cache=cache, report=interrupt)
    kept = [path for path in cache.rglob("*") if path.is_file()]
    assert len(kept) == 5 and not any(path.suffix == ".part" for path in kept)
    native_runs.clear()
    whole = runner.run(load(folder), jobs=1, cache=cache)
    assert len(native_runs) == 23 - 5 and whole == runner.run(load(folder), jobs=1)


def test_the_quick_form_has_no_verdict(folder: Path, native_runs: list[str]) -> None:
    [found] = runner.run(load(folder), quick=True, jobs=1)["experiments"]
    assert len(native_runs) == 2 and len(found["cells"]) == 2
    assert found["verdict"] == "undetermined" and "fewer than 10 seeds" in found["reason"]


def test_seeds_must_not_matter_where_they_are_said_not_to(folder: Path) -> None:
    def word(scenario: str) -> str:
        put(folder, experiment_py=changed("runs=10", "deterministic=True"), scenario_toml=scenario)
        found: str = runner.run(load(folder), jobs=1)["experiments"][0]["cells"][0]["verdict"]
        return found

    assert word(SCENARIO) == "undetermined"
    loss = '{ periodic = [{ at = "0s", every = 100 }] }'
    fixed = SCENARIO.replace("uniform 0s 1s", "0s").replace('loss = "1%"', f"loss = {loss}")
    text = changed('{"loss": ["link.path.loss"]}', '{"loss": []}').replace("runs=10", "deterministic=True")
    put(folder, experiment_py=text, scenario_toml=fixed)
    assert runner.run(load(folder), jobs=1)["experiments"][0]["cells"][0]["verdict"] != "undetermined"


RULE = 'Paper("S", SeedRule(least=10, most=35, hops=1e9, part=3))'


def test_seeds_go_on_until_the_interval_is_narrow(folder: Path) -> None:
    def seeds(paper: str) -> tuple[dict[str, Any], list[int]]:
        text = changed('Paper("S")', paper).replace(" runs=10,", "").replace("Paper, Quick", "Paper, Quick, SeedRule")
        put(folder, experiment_py=text, published_csv="loss,kbps\n1%,2100\n5%,\n")
        [found] = runner.run(load(folder), jobs=1, cache=folder / "cache")["experiments"]
        return found, [cell["runs"] for cell in found["cells"]]

    wide, runs = seeds(RULE)
    # At the edge of its band no look decides.
    assert runs[0] == 35, "random losses in three seconds leave a wide interval"
    assert runs[-1] == 10, "a row in which nothing is compared stops at the first step"
    assert wide["runs"] == 35 and "at the cap of 35 seeds" in (wide["cells"][0]["note"] or "at the cap of 35 seeds")
    few, runs = seeds(RULE.replace("1e9", "1"))
    assert runs[0] == 10 and few["packet_hops"] < wide["packet_hops"]
    assert seeds(RULE.replace("part=3", "part=1"))[1][0] == 20, "a wider interval is asked for"


def test_the_cap_is_named(folder: Path) -> None:
    [experiment] = load(folder)
    wide = Sample(runs_of(900.0, 450.0, 20), 20, cap="seeds")
    found = judge(experiment, Measured({"as-published": {("1%", "kbps"): wide}}), 20)
    assert found["cells"][0]["verdict"] == "undetermined" and "at the cap of 20 seeds" in found["cells"][0]["note"]


def test_a_paper_fixes_seeds_and_revision(folder: Path) -> None:
    import_rule = changed("Paper, Quick", "Paper, Quick, SeedRule")
    put(folder, experiment_py=import_rule.replace('Paper("S")', RULE))
    with pytest.raises(BadExperiment, match="one of the two decides"):
        runner.run(load(folder), jobs=1)
    put(folder, experiment_py=import_rule.replace('Paper("S")', RULE).replace(" runs=10,", ""))
    least = load(folder)[0].first_runs
    assert sum(point.seeds for point in runner.plan(load(folder)[0], quick=False)) == 2 * least + 2 * 2 + 3
    fixed = changed('Paper("S")', 'Paper("S", revision="sigcomm2000")')
    put(folder, experiment_py=fixed)
    says = "run one, row 1%: flow one runs revision rfc5348; the paper's is sigcomm2000"
    with pytest.raises(BadExperiment, match=says):
        list(runner.plan(load(folder)[0], quick=False))
    # The rfc profile is free.
    profile = '{"as-published": ["flow.one.tfrc.revision=sigcomm2000"]}'
    put(folder, experiment_py=fixed.replace("keys=", f"profiles={profile}, keys="))
    assert list(runner.plan(load(folder)[0], quick=False))


EMULATED = "from tfrc.lab import Emulation\nfigure.emulation = Emulation(runs=2, set=['flow.one.start=100ms'])\n"


class Emulator:
    """A made-up `tfrc emu`: virtual time gives the answers, `invalid` says of which tries they are
    far from the network."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.program = folder / "emulator"
        self.jobs: list[dict[str, Any]] = []
        self.invalid: Callable[[dict[str, Any], int], bool] = lambda job, tries: False
        self.calls = folder / "calls"
        self.program.write_text(f"#!/bin/sh\necho >> {self.calls}\ncat\n", encoding="utf-8")
        self.program.chmod(0o755)
        monkeypatch.setattr(_native, "emulated", self.answer)

    def answer(self, text: str, kept: list[str]) -> dict[str, Any]:
        job = json.loads(text)
        violations = ["rate off by 2.00 % of 1 %"] if self.invalid(job, len(self.jobs)) else []
        self.jobs.append(job)
        arrays = _native.record("text", job["text"], job["set"], 1, kept)
        kernel = {"release": "6.1.0-test", "notes": {"HyStart": "on: train and delay"}}
        return {
            **arrays, "violations": violations, "kernel": json.dumps(kernel),
            "fidelity": json.dumps({"rate_error": 0.001, "own_drops": 0}),
        }  # fmt: skip

    def record(self, folder: Path, **options: Any) -> str:
        self.jobs.clear()
        self.calls.write_text("", encoding="utf-8")
        [experiment] = load(folder)
        table = emulated.record(experiment, program=self.program, **options)
        (experiment.folder / "emulated.csv").write_text(table, encoding="utf-8")
        return table

    @property
    def asked(self) -> int:
        """The times that the program was started for the last record."""
        return len(self.calls.read_text(encoding="utf-8"))


@pytest.fixture
def emulator(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Emulator:
    return Emulator(folder, monkeypatch)


def test_an_emulated_experiment_waits_for_its_record_and_is_judged_by_it(folder: Path, emulator: Emulator) -> None:
    put(folder, experiment_py=changed("keys=", 'world="emu", keys=') + EMULATED)
    [waiting] = runner.run(load(folder), jobs=1)["experiments"]
    assert (waiting["verdict"], waiting["reason"]) == ("not-run", "nothing is recorded")
    assert emulator.record(folder, jobs=2) == emulator.record(folder)
    first, *_, last = emulator.jobs
    assert emulator.asked == 4 and emulator.jobs[0]["seed"] != emulator.jobs[1]["seed"]
    assert "link.path.loss=1%" in first["set"] and first["set"][-1] == "flow.one.start=100ms"
    assert "link.path.loss=5%" in last["set"]
    [found] = runner.run(load(folder), jobs=1)["experiments"]
    assert found["verdict"] == "agrees-with-claims" and "recorded on Linux 6.1.0-test, 20" in found["reason"]
    cell = found["cells"][0]
    assert (cell["measured"], cell["verdict"], cell["emulated_runs"]) == (None, None, 2) and cell["emulated"] > 100.0


def test_an_invalid_run_is_repeated_once_and_is_never_a_value(folder: Path, emulator: Emulator) -> None:
    put(folder, experiment_py=EXPERIMENT + EMULATED)
    emulator.invalid = lambda _, tries: tries == 0
    emulator.record(folder)
    assert emulator.asked == 5 and load(folder)[0].emulated.values["1%", "kbps"].runs == 2  # type: ignore[union-attr]
    # All tries in one row are; they are tried again, and the valid ones are not.
    emulator.invalid = lambda job, _: "link.path.loss=5%" in job["set"]
    emulator.record(folder, cache=folder / "cache")
    assert emulator.asked == 6
    [found] = runner.run(load(folder), quick=True, jobs=1)["experiments"]
    cell = next(one for one in found["cells"] if (one["row"], one["column"]) == ("5%", "kbps"))
    assert cell["emulated"] is None and cell["emulated_note"] == "2 of 2 runs invalid: rate off by 2.00 % of 1 %"
    emulator.invalid = lambda *_: False
    emulator.record(folder, cache=folder / "cache")
    assert emulator.asked == 2


def test_a_failed_run_says_why(folder: Path, emulator: Emulator) -> None:
    put(folder, experiment_py=EXPERIMENT + EMULATED)
    emulator.program.write_text("#!/bin/sh\necho no namespaces >&2\nexit 1\n", encoding="utf-8")
    assert "2 of 2 runs failed: no namespaces" in emulator.record(folder)
    assert emulator.jobs == []


def test_a_recorder_does_the_runs_in_place_of_the_flows(folder: Path, emulator: Emulator) -> None:
    put(folder, experiment_py=EXPERIMENT + EMULATED.replace("runs=2", "runs=2, recorder='record.py'"))
    [experiment] = load(folder)
    program = experiment.folder / "record.py"
    program.write_text("import sys\nprint('row,run', *sys.argv[1:])\n", encoding="utf-8")
    asked = ["--tfrc", str(emulator.program), "--jobs", "3"]
    assert emulator.record(folder, jobs=3) == " ".join(["row,run", *asked]) + "\n"
    assert emulator.asked == 0
    program.write_text("import sys\nsys.exit('no uftp' if '--quick' in sys.argv else 0)\n", encoding="utf-8")
    with pytest.raises(BadExperiment, match="record.py ended with 1"):
        emulated.record(experiment, program=emulator.program, quick=True)


def test_simulation_print_and_emulation_stand_side_by_side(folder: Path, emulator: Emulator) -> None:
    put(folder, experiment_py=EXPERIMENT + EMULATED.replace("runs=2", "runs=2, alone=['5%']"))
    emulator.record(folder)
    [found] = runner.run(load(folder), jobs=1)["experiments"]
    cells = {one["row"]: one for one in found["cells"] if one["column"] == "kbps"}
    assert cells["1%"]["measured"] is not None and cells["1%"]["emulated"] is not None
    assert cells["5%"]["measured"] is None and cells["5%"]["emulated"] is not None
    [falls] = found["claims"]
    assert falls["value"] is None and falls["value_in_emulation"] is not None


EXPERIMENTS = Path(__file__).parents[3] / "experiments"


@pytest.mark.skipif(not EXPERIMENTS.is_dir(), reason="only in a checkout")
def test_every_emulated_side_asks_for_what_the_kernel_has() -> None:
    sides = [one for one in library.load(EXPERIMENTS, ["all"]) if one.emulation is not None]
    sides = [one for one in sides if one.emulation is not None and one.emulation.recorder is None]
    assert len(sides) == 22

    def jobs(quick: bool) -> int:
        found = set()
        for one in sides:
            assert one.emulation is not None
            for _, plan, _, changes in emulated._points(one, one.emulation, quick):
                for run in range(1, emulated._runs(one, one.emulation, quick) + 1):
                    job = _native.emulation_job(str(one.folder / plan.scenario), changes, run, list(plan.keep))
                    found.add(emulated._key(job))
        return len(found)

    # Identical ones count once: 486 of the matrix, 40 of Figure 16, 29 of sigcomm2000 without Figures 6 and 16
    # but for 3 that Figures 9 and 10 share, 18 of Figure 6, 21 of rhee-xu, 18 of grieco-mascolo, 6 of rfc4828,
    # 6 of gtfrc; 3 of each of the rows of kernel and of modern/fairness-kernel; 10 of each of the 6 rows of
    # modern/fairness-minute, 2 of the 12 of modern/bound-kernel.
    rows = 60 + 77 + 15 + 6 + 40 + 96
    assert jobs(quick=False) == 486 + 40 + 29 + 3 + 18 + 21 + 18 + 6 + 6 + 3 * rows + 10 * 6 + 2 * 12
    assert jobs(quick=True) < 65


