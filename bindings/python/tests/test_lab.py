"""The laboratory: verdicts by hand, a small experiment in all its ways of running, mistakes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from small_experiment import EXPERIMENT, SCENARIO, changed, load, put, runs_of

from tfrc.lab import Run, SeedRule, cli, judge, library, runner
from tfrc.lab.experiment import BadExperiment
from tfrc.lab.figure import Page, svg
from tfrc.lab.judge import Sample, is_finished, is_open, more_seeds
from tfrc.lab.recording import Recording, number
from tfrc.lab.statistics import estimate, holm, variation, welch
from tfrc.lab.tables import BadTable, printed, read
from tfrc.lab.verdict import Reference, compare, of_both

def verdict(values: Sequence[float], reference: Reference, band: str = "rate") -> str:
    found = compare(values, len(values), reference, band)
    assert found is not None
    return found.verdict


def print_(text: str) -> Reference:
    value = printed(text)
    assert value is not None
    return Reference.print_(value, 0.0)


@pytest.mark.parametrize(
    ("mean", "wanted"),
    [
        (100.0, "agrees"), (123.0, "agrees"), (125.0, "undetermined"), (127.0, "disagrees"),
        (81.0, "agrees"), (80.0, "undetermined"), (78.0, "disagrees"),
    ],
)  # fmt: skip
def test_too_high_and_too_low(mean: float, wanted: str) -> None:
    assert verdict(runs_of(mean, 1.0), print_("100.0")) == wanted


def test_wide_intervals_few_seeds_and_missing_runs_are_undetermined() -> None:
    assert verdict(runs_of(100.0, 60.0), print_("100")) == "undetermined"
    assert verdict(runs_of(160.0, 100.0), print_("100")) == "undetermined"
    assert verdict(runs_of(900.0, 0.1, 9), print_("100")) == "undetermined"
    missing = compare(runs_of(100.0, 0.1), 12, print_("100"), "rate")
    once = compare([100.0], None, print_("100"), "rate")
    assert missing is not None and missing.verdict == "undetermined"
    assert once is not None and once.verdict == "agrees"
    assert compare([], 12, print_("100"), "rate") is None


def test_ns2_is_closer_and_must_be_known_well_enough() -> None:
    def ns2(half: float) -> Reference:
        return Reference("ns2", 100.0, half)

    wanted = [
        (108.0, 0.0, "agrees"), (112.0, 0.0, "disagrees"), (108.0, 5.0, "agrees"), (100.0, 15.0, "undetermined"),
        (200.0, 15.0, "undetermined"), (100.0, math.nan, "undetermined"), (300.0, math.nan, "undetermined"),
    ]  # fmt: skip
    for mean, half, word in wanted:
        assert verdict(runs_of(mean, 1.0), ns2(half)) == word, (mean, half)


def test_zero_coarse_prints_and_absolute_bands() -> None:
    # 0.01 stands for all from 0.005 to 0.015, 0.00 for all below 0.005.
    wanted = [
        (0.0045, "0.01", "rate", "agrees"), (0.018, "0.01", "rate", "agrees"), (0.0035, "0.01", "rate", "disagrees"),
        (0.020, "0.01", "rate", "disagrees"), (0.006, "0.00", "rate", "agrees"), (0.0072, "0.00", "rate", "disagrees"),
        (0.93, "0.900", "utilization", "agrees"), (0.94, "0.900", "utilization", "disagrees"),
        (0.514, "0.500", "share", "agrees"), (0.517, "0.500", "share", "disagrees"), (0.519, "0.50", "share", "agrees"),
        (0.009, "0.000", "drop", "agrees"), (0.012, "0.000", "drop", "disagrees"), (0.43, "0.400", "drop", "agrees"),
        (0.45, "0.400", "drop", "disagrees"), (1.06, "1.0000", "trace", "disagrees"), (1.04, "1.0000", "trace", "agrees"),
    ]  # fmt: skip
    for mean, text, band, word in wanted:
        assert verdict(runs_of(mean, 1e-4), print_(text), band) == word, (mean, text, band)


def test_two_comparisons_in_one_word() -> None:
    assert of_both(None, None) is None
    assert of_both("agrees", "disagrees") == "agrees-with-print"
    assert of_both("disagrees", "agrees") == "agrees-with-ns2"
    assert of_both("disagrees", "undetermined") == "undetermined"
    assert of_both("disagrees", None) == "disagrees"
    assert of_both("disagrees", "uninformative") == "disagrees"
    assert of_both("uninformative", "undetermined") == "undetermined"
    assert {of_both("uninformative", word) for word in (None, "uninformative")} == {"uninformative"}


def test_statistics_by_hand() -> None:
    # t of 95 % with two degrees of freedom is 4.3027 (Student 1908).
    mean, half = estimate([1.0, 2.0, 3.0])
    assert mean == 2.0 and half == pytest.approx(4.302653 / math.sqrt(3.0), rel=1e-6)
    assert math.isnan(estimate([1.0]).ci95) and math.isnan(estimate([]).mean)
    assert variation([1.0, 3.0]) == 0.5 and math.isnan(variation([1.0]))
    same, other = welch([1.0, 1.0], [1.0, 1.0], 0.01), welch([1.0, 1.0], [2.0, 2.0], 0.01)
    assert same is not None and (same.ratio, same.p) == (1.0, 1.0)
    assert other is not None and (other.ratio, other.p) == (2.0, 0.0)
    assert welch([0.0, 0.0], [1.0, 1.0], 0.01) is None
    # 0.001 and 0.01 pass 0.05/3 and 0.05/2, 0.2 does not pass 0.05.
    assert holm([0.2, 0.001, 0.01], 0.05) == [False, True, True]
    assert holm([0.02, 0.02], 0.03) == [False, False]


def test_printed_numbers() -> None:
    for text, value, half in [("17", 17.0, 0.5), ("0.01", 0.01, 0.005), ("12%", 0.12, 0.005), ("1.5e-3", 1.5e-3, 5e-5)]:
        found = printed(text)
        assert found is not None
        assert found.value == pytest.approx(value) and found.half_unit == pytest.approx(half)
    assert [printed(text) for text in ("", "x", "1,5", "nan", "inf", "--1", "%")] == [None] * 7
    assert [number(text) for text in ("0.1%", "50ms", "2Mbit/s")] == pytest.approx([0.001, 0.05, 2e6])
    assert math.isnan(number("reno"))


def test_mistakes_in_tables_say_where(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for text, says in [
        ("", "is empty"), ("a,x\n1,2\n", "b is not there"), ("a,b,x\n1,2\n", ":2: 2 fields for 3 columns"),
        ("a,b,x\n1,2,y\n", ":2: 'y' in column x"), ("a,b,x\n1,2,3\n1,2,4\n", ":3: the row 1/2 is there twice"),
    ]:  # fmt: skip
        path.write_text(text, encoding="utf-8")
        with pytest.raises(BadTable, match=says.replace("/", "/")):
            read(path, ["a", "b"])
    path.write_text("# of ns-2\na,seed,x\n1,1,3\n1,2,5\n2,1,\n", encoding="utf-8")
    table = read(path, ["a"])
    assert table.get("1", "x") == 4.0 and table.seeds["1", "x"] == [3.0, 5.0] and table.get("2", "x") is None


def test_measures_of_a_run_by_hand() -> None:
    arrays: dict[str, Any] = {
        "groups": [("pair", 0, 2)], "flow_ids": ["pair-1", "pair-2"], "link_ids": ["path"],
        "flow_keys": ["goodput_bps"], "link_keys": ["utilization"], "packet_hops": 7,
        "from_ns": 200_000_000, "to_ns": 600_000_000,
        "of_flows": np.array([[1.0], [3.0]]), "of_links": np.array([[0.5]]),
        "sent": np.array([[10, 0, 5, 5, 0, 0], [5, 5, 10, 0, 0, 0]], dtype=np.uint64),
        "received": np.array([[0, 0, 5, 5, 0, 0], [0, 0, 10, 0, 0, 0]], dtype=np.uint64),
        # Intervals of 50 (made up), 10, 30 and 20 packets; the estimates after them.
        "loss_ends": np.array([4, 4]), "loss_at_ns": np.array([1, 2, 3, 4]) * 200_000_000,
        "loss_interval": np.array([50.0, 10.0, 30.0, 20.0]), "loss_mean": np.array([10.0, 20.0, 20.0, 40.0]),
        "queue": np.array([[math.nan, *range(1, 60)]]),
    }  # fmt: skip
    run = Run(Recording(arrays), {"loss": "1%"})
    assert (run.flow("pair", "goodput_bps"), run.total("pair*", "goodput_bps")) == (2.0, 4.0)
    assert run.spread("pair", "goodput_bps") == 0.5 and run.link("path", "utilization") == 0.5
    assert run.rate("pair-1", 0.0, 0.2) == 400.0 and run.goodput("pair", 0.2, 0.4) == pytest.approx(400.0)
    assert run.active("pair", 0.3, 0.5) == 1.0 and run.end("pair") == pytest.approx(0.35)
    # 5 and 10, 5 and 0, and two stretches in which nobody sends.
    assert run.equivalence("pair-1", "pair-2", 0.1) == 0.25
    assert run.cov("pair-1", 0.2) == 1.0 and run.number("loss") == 0.01
    theta = run.thetas("pair")
    assert len(theta) == 1 and theta[0].mean == 20.0 and run.theta("pair", "p") == 0.05
    assert run.theta("pair", "p_hat") == pytest.approx((0.05 + 0.05 + 0.025) / 3)
    # θ − 20: −10, 10, 0; θ̂ before: 10, 20, 20, mean 50/3.
    assert theta[0].cov == pytest.approx((10 * 20 / 3 + 10 * 10 / 3) / 3)
    assert list(run.queue("path", 0.0, 0.03)) == [1, 2] and run.queue("path").max() == 59
    with pytest.raises(KeyError, match="there is no flow 'three'; there are pair"):
        run.flow("three", "goodput_bps")
    with pytest.raises(ValueError, match="keep=\\['looks'\\]"):
        run.state("pair", "p", 0.3)


def test_the_same_whatever_the_threads_and_the_cache(folder: Path) -> None:
    done = []
    whole = runner.run(load(folder), jobs=1, report=lambda n, _: done.append(n))
    # Two rows of ten runs, and a variant of three. The rfc profile is alike here and shares them.
    assert len(done) == 23
    cache = folder / "cache"
    for jobs in (3, 1):
        assert json.dumps(runner.run(load(folder), jobs=jobs, cache=cache)) == json.dumps(whole)
    # A change of a measure runs nothing anew, although the whole is another result.
    path = folder / "p" / "x" / "experiment.py"
    path.write_text(EXPERIMENT.replace('"send_rate_bps") / 1000', '"goodput_bps") / 1000'), encoding="utf-8")
    before = {one: one.stat().st_mtime_ns for one in cache.rglob("*") if one.is_file()}
    changed = runner.run(load(folder), jobs=1, cache=cache)
    assert changed != whole and before == {one: one.stat().st_mtime_ns for one in cache.rglob("*") if one.is_file()}
    [found] = whole["experiments"]
    assert all(one["measured"] is not None and one["rfc_profile"] is not None for one in found["cells"])
    assert [one["verdict"] for one in found["cells"] if one["column"] == "probe"] == [None, None]
    [slow] = found["variants"]
    assert {one["row"] for one in slow["cells"]} == {"1%"} and slow["cells"][0]["to_unchanged"] < 0.5


def test_a_damaged_recording_is_made_anew(folder: Path) -> None:
    cache = folder / "cache"
    whole = runner.run(load(folder), jobs=1, cache=cache)
    for path in cache.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:40])
    assert runner.run(load(folder), jobs=1, cache=cache) == whole


def test_on_a_cluster_of_two_workers(folder: Path) -> None:
    distributed = pytest.importorskip("distributed")
    here = json.dumps(runner.run(load(folder), quick=True, jobs=1))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            assert json.dumps(runner.run(load(folder), quick=True, client=client)) == here


def test_the_rule_of_seeds(folder: Path) -> None:
    [experiment] = load(folder)
    column = experiment.columns_["kbps"]
    narrow, wide = Sample(runs_of(900.0, 9.0), 10), Sample(runs_of(900.0, 400.0), 10)
    rule = SeedRule(least=10, most=30, hops=1000.0, part=3.0)
    assert is_finished(experiment, "1%", column, narrow, rule)
    assert not is_finished(experiment, "1%", column, wide, rule)
    # Far outside its band a wide cell is decided.
    assert is_finished(experiment, "1%", column, Sample(runs_of(9000.0, 1200.0), 10), rule)
    assert is_open(experiment, "1%", column, wide) and not is_open(experiment, "1%", column, narrow)

    class Point:
        cap = None

        def __init__(self, deviation: float, hops: float) -> None:
            self.seeds = 10
            self.done = [({"kbps": x}, hops) for x in runs_of(900.0, deviation)]

        def samples(self) -> list[tuple[str, Any, Sample]]:
            return [("1%", column, Sample([values["kbps"] for values, _ in self.done], 10))]

    points = [Point(9.0, 10.0), Point(400.0, 10.0)]
    more_seeds(experiment, rule, points)
    assert [point.seeds for point in points] == [10, 20] and points[1].cap is None
    dear = [Point(400.0, 60.0)]
    more_seeds(experiment, rule, dear)
    assert (dear[0].seeds, dear[0].cap) == (10, "hops")
    for least, most, part in [(9, 30, 3.0), (20, 10, 3.0), (10, 30, 0.5)]:
        with pytest.raises(BadExperiment):
            SeedRule(least, most, 1.0, part)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"kbps": run', '"kbit": run', "does not measure 'kbps'"),
        ('figure.columns("kbps")', "", "column kbps of published.csv is compared with nothing"),
        ('"5%", "kbps"]', '"6%", "kbps"]', "no row '6%'"),
        ('rows=["1%"])\n', 'rows=["3%"])\n', "no row '3%'"),
        ('"assumed: link', '"link', "what for"),
        ("link.path.rate=2Mbit", "link.path.rat=2Mbit", "rat"),
        ('"one", "send', '"two", "send', "there is no flow 'two'"),
        ('figure.columns("kbps")', 'figure.ignored = {"kbps": "of no use"}', "nothing is compared"),
    ],
)
def test_mistakes_in_an_experiment(folder: Path, old: str, new: str, says: str) -> None:
    path = folder / "p" / "x" / "experiment.py"
    assert old in EXPERIMENT
    path.write_text(EXPERIMENT.replace(old, new), encoding="utf-8")
    with pytest.raises(Exception, match=says):
        runner.run(load(folder), quick=True, jobs=1)


def test_the_places_of_a_picture_are_rounded_and_its_words_are_not() -> None:
    drawn = Figure()
    axes = drawn.subplots()
    axes.plot([0, 1], [0.012345, 0.02])
    axes.set_title("0.25BDP")
    picture = svg(drawn)
    assert "0.25BDP" in picture and not re.search(r'[ "]\d+\.\d\d', picture)


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--experiments", str(folder)]
    assert cli.main([*at, "list"]) == 0 and "p/x  T" in capsys.readouterr().out
    assert cli.main([*at, "show", "p/x", "--set", "duration=9s"]) == 0
    shown = capsys.readouterr().out
    # The whole scenario, each change with its origin.
    assert 'duration = "9s"  # --set\n' in shown and 'loss = "1%"  # row 1%, loss\n' in shown
    assert 'rate = "2Mbit/s"  # run one\n' in shown and 'queue = "10p"\n' in shown and "1%,900" in shown
    out = folder / "out"
    assert cli.main([*at, "run", "p/x", "--quick", "--no-cache", "--json", "--out", str(out)]) == 0
    results = json.loads(capsys.readouterr().out)
    assert results == json.loads((out / "results.json").read_text(encoding="utf-8"))
    page, picture = ((out / f"p-x.{ending}").read_text(encoding="utf-8") for ending in ("html", "svg"))
    assert page.index("p-x.svg") < page.index("<table") and "<svg" in picture
    assert cli.main([*at, "run", "p/x", "--quick", "--no-cache", "--out", str(folder / "again")]) == 0
    assert (folder / "again" / "p-x.svg").read_text(encoding="utf-8") == picture
    assert cli.main([*at, "run", "q"]) == 2 and "tfrc-lab list" in capsys.readouterr().err
    for name, begin in (("f.pdf", b"%PDF"), ("f.png", b"\x89PNG"), ("f.svg", b"<?xml")):
        for file in (folder / name, folder / f"again-{name}"):
            assert cli.main([*at, "run", "p/x", "--quick", "--no-cache", "--figure", str(file)]) == 0
        assert (folder / name).read_bytes().startswith(begin)
        assert (folder / name).read_bytes() == (folder / f"again-{name}").read_bytes(), "equal bytes"
    capsys.readouterr()
    assert cli.main([*at, "run", "p/x", "--quick", "--no-cache", "--figure", "f.jpg"]) == 2
    assert "svg, pdf, png" in capsys.readouterr().err
    assert cli.main([*at, "publish"]) == 2 and "is not a checkout" in capsys.readouterr().err


EXPERIMENTS = Path(__file__).parents[3] / "experiments"


@pytest.mark.skipif(not EXPERIMENTS.is_dir(), reason="only in a checkout")
def test_every_experiment_of_the_literature_fits_its_scenario_and_tables() -> None:
    found = library.load(EXPERIMENTS, ["all"])
    assert {one.id for one in found} == {
        path.parent.relative_to(EXPERIMENTS).as_posix() for path in EXPERIMENTS.glob("*/*/published.csv")
    }
    for one in found:
        points = list(runner.plan(one, quick=True))
        assert points or one.computed is not None or one.world == "emu", one.id
        # Runs, rows and keys that a drawing names are looked up while it adds its panels.
        assert len(Page(one, judge.not_run(one, "")).panels) >= len(one.drawing), one.id


def test_experiments_share_a_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_paper = 'keys={"loss": ["link.path.loss"]}, scenario="../net.toml", set=["link.path.delay=9ms"]'
    program = changed('keys={"loss": ["link.path.loss"]}', of_paper)
    put(tmp_path, experiment_py=program + '\nfigure.run(one, name="own", scenario="scenario.toml", rows=["1%"])\n')
    (tmp_path / "p/net.toml").write_text(SCENARIO.replace("10p", "20p"), encoding="utf-8")
    assert cli.main(["--experiments", str(tmp_path), "show", "p/x"]) == 0
    shared, own = capsys.readouterr().out.split("# run own")
    assert str(tmp_path / "p/net.toml") in shared and 'queue = "20p"\n' in shared
    assert 'delay = "9ms"  # experiment\n' in shared
    # A run with a scenario of its own has none of the experiment's changes.
    assert 'delay = "10ms"\n' in own and 'queue = "10p"\n' in own
    [experiment] = load(tmp_path)
    assert [path.name for path in experiment.scenarios] == ["net.toml", "scenario.toml"]
    changes = {point.plan.name: point.changes[0] for point in runner.plan(experiment, quick=True)}
    assert changes == {"one": "link.path.delay=9ms", "own": "link.path.loss=1%"}


@pytest.mark.skipif(not EXPERIMENTS.is_dir(), reason="only in a checkout")
def test_a_run_is_shown_in_a_row_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--experiments", str(EXPERIMENTS), "show", "sigcomm2000/fig-16"]) == 0
    assert "run nokia, row Nokia_Boston/" in capsys.readouterr().out


@pytest.mark.skipif(not EXPERIMENTS.is_dir(), reason="only in a checkout")
def test_computations_count_the_hops_of_their_simulations_and_take_changes() -> None:
    found = library.load(EXPERIMENTS, ["sigcomm2000/fig-22", "sigcomm2000/fig-05"])
    one_stops, closed = runner.run(found, quick=True, jobs=2)["experiments"]
    # Three runs of 40 s on a link of 1.5 Mbit/s: 18.75 packets of 1000 bytes in 0.1 s, as many
    # acknowledgements, each over the link and over the access line of its flow; most are used.
    assert 0.75 * 4 * 3 * 7500 < one_stops["packet_hops"] < 1.05 * 4 * 3 * 7500 and closed["packet_hops"] == 0
    [slower] = runner.run(found[:1], quick=True, changes=["link.bottleneck.rate=300kbit/s"])["experiments"]
    assert slower["packet_hops"] < one_stops["packet_hops"] / 2


@pytest.mark.skipif(not EXPERIMENTS.is_dir(), reason="only in a checkout")
def test_closed_forms_agree_with_the_print() -> None:
    found = library.load(EXPERIMENTS, ["rhee-xu/figure-13", "sigcomm2000/fig-05", "rfc4828/table-01"])
    words = [one["verdict"] for one in runner.run(found, jobs=1)["experiments"]]
    assert words == ["agrees-with-values"] * 3


@pytest.mark.skipif(not EXPERIMENTS.is_dir(), reason="only in a checkout")
def test_the_package_has_the_experiments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").mkdir()
    inside = library.root()
    assert tmp_path not in inside.parents and library.ids(inside) == library.ids(EXPERIMENTS)
    for one in library.load(inside, ["all"]):
        files = ["experiment.py", "published.csv", "README.md", *(plan.scenario for plan in one.plans.values())]
        files += [name for name in ("ns2.csv", "emulated.csv") if (EXPERIMENTS / one.id / name).exists()]
        assert all((one.folder / name).is_file() for name in files), one.id
