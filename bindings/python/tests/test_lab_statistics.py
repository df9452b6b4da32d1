"""Controls and corrected levels, on samples whose truth is known."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_experiment import changed, judged, load, put, runs_of

from tfrc.lab import Control, SeedRule, library, runner
from tfrc.lab.judge import Measured, Sample, judge
from tfrc.lab.statistics import Known, estimate
from tfrc.lab.verdict import Reference, compare

RULE = SeedRule(least=10, most=400, hops=1e9, part=3)
LOOKS = (10, 20, 40, 80, 160, 320, 400)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return put(tmp_path)


def test_a_control_by_hand() -> None:
    # y = 1 + 2c: at c = 5 it is 11, and all that is not known is the 5.
    exact = estimate([3.0, 5.0, 7.0, 9.0], known=Known([1.0, 2.0, 3.0, 4.0], 5.0, 0.0))
    assert exact.mean == pytest.approx(11.0) and exact.ci95 == pytest.approx(0.0, abs=1e-12)
    drawn = estimate([3.0, 5.0, 7.0, 9.0], known=Known([1.0, 2.0, 3.0, 4.0], 5.0, 0.1))
    # t of 95 % with two degrees of freedom.
    assert drawn.ci95 == pytest.approx(4.302653 * 2.0 * 0.1, rel=1e-6)
    same = [1.0, 2.0, 4.0, 5.0]
    assert estimate(same, known=Known([7.0] * 4, 7.0, 0.0)) == estimate(same)


@pytest.mark.parametrize(
    ("name", "truth", "gain"),
    [("linear", 16.0, 0.4), ("curved", math.exp(0.045) / 2.0, 0.5), ("no control", 1.0, 1.1)],
)
def test_the_interval_of_a_corrected_mean_covers(name: str, truth: float, gain: float) -> None:
    # 95 % of 600 give or take three standard errors of that share.
    draw, inside, widths = np.random.default_rng(44), 0, []
    for _ in range(600):
        c = draw.normal(5.0, 1.0, 20)
        noise = draw.normal(0.0, 1.0, 20)
        values = {
            "linear": 1.0 + 3.0 * c + noise,
            # A loss that grows faster than the load; its mean is that of a lognormal.
            "curved": np.exp(0.3 * (c - 5.0)) / 2.0 + 0.04 * noise,
            "no control": 1.0 + noise,
        }[name]
        expected = draw.normal(5.0, 0.03)
        found = estimate(values.tolist(), known=Known(c.tolist(), expected, 0.03))
        inside += abs(found.mean - truth) <= found.ci95
        widths.append(found.ci95 / estimate(values.tolist()).ci95)
    assert 0.923 <= inside / 600 <= 0.977 and float(np.mean(widths)) < gain


def test_levels_add_up_to_what_may_be_misjudged() -> None:
    assert sum(map(RULE.level, LOOKS)) == pytest.approx(0.005)
    assert min(map(RULE.level, LOOKS)) > 1e-4
    other = SeedRule(least=20, most=35, hops=1.0, part=3)
    assert other.level(20) + other.level(35) == pytest.approx(0.005)


def test_looks_at_a_corrected_level_misjudge_as_few_as_they_may() -> None:
    # A mean just outside of its band, which agrees with the probability of a misjudgement.
    reference = Reference("ns2", 0.5, 0.0)
    outside = reference.edges("share")[1] + 1e-9
    count, draw = 2000, np.random.default_rng(7)
    runs = draw.normal(outside, 0.03, (count, LOOKS[-1]))

    def misjudged(corrected: bool) -> int:
        def wrong(values: Any, look: int) -> bool:
            found = compare(values[:look], look, reference, "share", alpha=RULE.level(look) if corrected else 0.05)
            return found is not None and found.verdict == "agrees"

        return sum(any(wrong(values, look) for look in LOOKS) for values in runs)

    # Of two sides one is wrong: at most a half of 0.5 %, and three standard errors.
    most = 0.0025 * count
    assert misjudged(True) <= most + 3.0 * math.sqrt(most)
    assert misjudged(False) > 0.05 * count


def test_a_run_with_a_control(folder: Path) -> None:
    import_ = changed("Paper, Quick", "Control, Paper, Quick, SeedRule").replace(" runs=10,", "")
    program = import_.replace('Paper("S")', 'Paper("S", SeedRule(least=10, most=20, hops=1e9, part=1))')
    control = 'columns("kbps", control=Control("probe", 0.01))'
    put(folder, experiment_py=program.replace('columns("kbps")', control), published_csv="loss,kbps\n1%,900\n5%,\n")
    found = runner.run(load(folder), jobs=1, cache=folder / "cache")["experiments"][0]["cells"][0]
    assert (found["control"], found["runs"]) == ("probe", 20) and found["measured"] != found["uncorrected"]
    # The expectation is that of the scenario as published alone.
    changed_ = runner.run(load(folder), jobs=1, cache=folder / "cache", changes=["link.path.loss=3%"])
    cell = changed_["experiments"][0]["cells"][0]
    assert cell["control"] is None and cell["measured"] == cell["uncorrected"]
    put(folder, experiment_py=program.replace('columns("kbps")', control.replace("probe", "other")))
    with pytest.raises(ValueError, match="does not measure 'other'"):
        runner.run(load(folder), jobs=1)


def test_fewer_than_twenty_seeds_have_no_control() -> None:
    def known(count: int) -> Any:
        return Sample([1.0] * count, count, control=Known([1.0] * count, 1.0, 0.0)).known

    assert known(19) is None and known(20) is not None
    assert Control("load", 1.0).error == 0.0


def test_a_print_of_few_runs_is_no_better_than_they_scatter(folder: Path) -> None:
    put(folder, experiment_py=changed('columns("kbps")', 'columns("kbps", printed_runs=4)'))
    [experiment] = load(folder)

    def word(mean: float) -> str:
        # The mean of 40 is known to 4 %; four runs of these may be off by 0.22 of 1800.
        samples = {("1%", "kbps"): Sample(runs_of(mean, 200.0, 40), 40)}
        return str(judge(experiment, Measured({"as-published": samples}), 40)["cells"][0]["verdict_print"])

    assert [word(mean) for mean in (900.0, 1250.0, 1800.0)] == ["agrees", "uninformative", "disagrees"]


def test_ns2_with_all_its_seeds_may_say_nothing(folder: Path) -> None:
    ns2 = "# runs; seeds: 30 (1%); 5 (5%)\nloss,kbps,kbps_ci95\n1%,1500,400\n5%,300,200\n"
    open_ = judged(folder, (900.0, 300.0), ns2)
    assert open_["tally"]["ns2"]["undetermined"] == 2
    put(folder, experiment_py=changed("runs=10,", "runs=10, ns2_seeds=30,"))
    found = judged(folder, (1500.0, 300.0), ns2)
    words = [one["verdict_ns2"] for one in found["cells"] if one["column"] == "kbps"]
    assert words == ["uninformative", "undetermined"]
    assert found["cells"][0]["verdict"] == "disagrees", "what ns-2 cannot say leaves the print"
    assert judged(folder, (900.0, 300.0), ns2)["cells"][0]["note"] == "ns-2's own interval stays too wide"


SOURCES = Path(__file__).parents[3] / "experiments" / "sigcomm2000"


@pytest.mark.skipif(not SOURCES.is_dir(), reason="only in a checkout")
def test_what_drawn_sources_send_is_what_the_control_says() -> None:
    spec = importlib.util.spec_from_file_location("alone", SOURCES / "alone.py")
    assert spec is not None and spec.loader is not None
    alone = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(alone)
    [figure] = library.load(SOURCES.parent, ["sigcomm2000/fig-11"])
    control = figure.columns_["mean_loss"].control
    assert control is not None
    # The measured time of the scenario is that of the draws.
    scenario = (figure.folder / figure.scenario).read_text(encoding="utf-8")
    assert 'duration = { value = "2500s"' in scenario and 'warmup = { value = "20s"' in scenario
    rates = alone.rates(3000, 99)
    error = math.hypot(float(np.std(rates)) / math.sqrt(3000), control.error)
    assert abs(float(np.mean(rates)) - control.expected) < 4.0 * error < 0.1 * control.expected
