"""Verdicts on made-up samples of a small experiment, sentences about them, and experiments that are
broken."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import pytest
from small_experiment import changed, judged, put

from tfrc.lab import library, runner, text

# ns-2 differs from the print in the first row.
NS2 = "loss,kbps,kbps_ci95,probe,probe_ci95\n1%,1500,10,0.5,0.01\n5%,300,1,0.5,0.01\n"


def verdicts(found: dict[str, Any]) -> tuple[Optional[str], Optional[str], str]:
    return found["verdict_print"], found["verdict_ns2"], found["verdict"]


@pytest.mark.parametrize(
    ("values", "between", "wanted"),
    [
        ((900.0, 300.0), (0.1, 0.9), "agrees-with-print"),
        ((1200.0, 300.0), (0.1, 0.9), "disagrees"),
        ((1000.0, 250.0), (0.1, 0.9), "agrees-with-print"),
        # A claim that holds in the source must hold.
        ((1000.0, 250.0), (0.3, 0.4), "disagrees"),
        # One that fails in the source's own table need not.
        ((1000.0, 250.0), (0.5, 0.6), "agrees-with-print"),
        # On the edge of the band neither can be said: any value that rounds to 900 may be meant.
        ((900.5 * 1.25, 300.0), (0.1, 0.9), "undetermined"),
    ],
)
def test_the_verdict_on_an_experiment(
    folder: Path, values: tuple[float, float], between: tuple[float, float], wanted: str
) -> None:
    put(folder, experiment_py=changed("(0.1, 0.9)", str(between)))
    assert judged(folder, values)["verdict"] == wanted


def test_a_plateau_says_nothing_and_a_missing_reference_neither(folder: Path) -> None:
    rule = 'uninformative=(lambda measured, *_: measured > 0.97 * 1000, "the limit")'
    put(folder, experiment_py=changed('columns("kbps")', f'columns("kbps", {rule})'))
    found = judged(folder, (1500.0, 300.0))
    assert found["verdict"] == "agrees-with-print" and found["cells"][0]["note"] == "the limit"
    assert (found["tally"]["print"]["agree"], found["tally"]["uninformative"]) == (1, 1)
    put(folder, published_csv="loss,kbps\n1%,900\n5%,\n")
    found = judged(folder, (900.0, 7.0))
    words = [one["verdict"] for one in found["cells"] if one["column"] == "kbps"]
    assert words == ["agrees-with-print", None]
    # The claim needs the missing cell of the source, so that the source's word stands: it must hold here.
    [falls] = found["claims"]
    assert (falls["holds_in_source"], falls["holds"], found["verdict"]) == (None, False, "disagrees")


def test_print_and_ns2_are_judged_apart(folder: Path) -> None:
    as_ns2 = judged(folder, (1500.0, 300.0), NS2)
    first = as_ns2["cells"][0]
    assert verdicts(as_ns2) == verdicts(first) == ("disagrees", "agrees", "agrees-with-ns2")
    assert (first["ratio"], first["ratio_over"]) == (first["measured"] / 900.0, "print")
    assert list(as_ns2["tally"]["print"].values()) == [1, 1, 0] and list(as_ns2["tally"]["ns2"].values()) == [2, 0, 0]
    assert "print: 1 of 2 cells agree" in as_ns2["reason"]
    as_print = judged(folder, (900.0, 300.0))
    assert verdicts(as_print) == ("agrees", "disagrees", "agrees-with-print")
    # A probe is not judged.
    assert all(one["column"] == "kbps" or one["verdict"] is None for one in as_print["cells"])
    assert judged(folder, (3000.0, 300.0))["verdict"] == "disagrees"
    # A row known only from ns-2: its ratio is over ns-2, and it lowers the verdict of the print.
    put(folder, experiment_py=changed('columns("kbps")', 'columns("kbps", ns2_only_rows=["1%"])'))
    only = judged(folder, (900.0, 300.0))
    assert verdicts(only["cells"][0]) == (None, "disagrees", "disagrees") and only["cells"][0]["ratio_over"] == "ns2"
    assert (only["verdict_print"], only["verdict"]) == ("agrees", "disagrees")
    put(folder, experiment_py=changed('columns("kbps")', 'columns("kbps", against="published")'))
    assert verdicts(judged(folder, (1500.0, 300.0))["cells"][0]) == ("disagrees", None, "disagrees")


def test_ns2_without_an_interval_is_vague_unless_it_is_exact(folder: Path) -> None:
    ns2 = "loss,kbps\n1%,1500\n5%,300\n"
    vague = judged(folder, (1500.0, 300.0), ns2)
    assert (vague["verdict_ns2"], vague["verdict"]) == ("undetermined", "undetermined")
    put(folder, experiment_py=changed('columns("kbps")', 'columns("kbps", ns2_exact="the losses are scripted")'))
    exact = judged(folder, (1500.0, 300.0), ns2)
    assert (exact["verdict_ns2"], exact["verdict"]) == ("agrees", "agrees-with-ns2")


def test_a_table_next_to_ns2_alone_is_judged_by_welch(folder: Path) -> None:
    program = changed("runs=10,", 'runs=10, judge="welch",')
    program = program.replace('columns("kbps")', 'columns("kbps", against="ns2")').partition("figure.claim")[0]
    means = {"1%": 900, "5%": 300}
    seeds = "".join(f"{row},{seed},{mean + seed % 2}\n" for row, mean in means.items() for seed in range(10))
    put(folder, experiment_py=program, published_csv="loss\n1%\n5%\n", ns2_csv="loss,seed,kbps\n" + seeds)
    close = judged(folder, (900.5, 345.0))
    assert [one["verdict"] for one in close["cells"] if one["column"] == "kbps"] == ["agrees-with-ns2", "disagrees"]
    assert close["cells"][0]["difference"] < 0.01 and close["verdict"] == "disagrees"


@pytest.mark.parametrize(
    ("word", "of", "counts", "says"),
    [
        (
            "agrees-with-ns2", ("undetermined", "agrees"), ((26, 30), (30, 33), (6, 6)),
            "Agrees with ns-2; is open against the print: 26 of 30 values agree with the print, 30 of 33 with ns-2, "
            "all 6 claims hold.",
        ),
        (
            "agrees-with-ns2", ("disagrees", "agrees"), ((30, 30), (30, 30), (5, 6)),
            "Agrees with ns-2; does not bear out every claim of the print: all 30 values agree with the print, "
            "all 30 with ns-2, 5 of 6 claims hold.",
        ),
        (
            "disagrees", ("disagrees", None), ((2, 9), (0, 0), (0, 0)),
            "Disagrees with the print: 2 of 9 values agree with the print.",
        ),
        (
            "disagrees", ("disagrees", "disagrees"), ((0, 2), (1, 2), (0, 0)),
            "Disagrees with the print and with ns-2: 0 of 2 values agree with the print, 1 of 2 with ns-2.",
        ),
        (
            "undetermined", ("agrees", "undetermined"), ((0, 0), (3, 4), (1, 1)),
            "Agrees with the print as far as that goes; is open against ns-2: 3 of 4 values agree with ns-2, "
            "1 of 1 claims hold.",
        ),
        (
            "agrees-with-print", ("agrees", "disagrees"), ((9, 9), (1, 9), (0, 0)),
            "Agrees with the print; disagrees with ns-2: all 9 values",
        ),
    ],
)  # fmt: skip
def test_the_sentence_says_no_more_than_the_verdict(
    word: str, of: tuple[Optional[str], Optional[str]], counts: Sequence[tuple[int, int]], says: str
) -> None:
    found = text.verdict(word, dict(zip(("print", "ns2"), of)), dict(zip(("print", "ns2", "claims"), counts)))
    assert found.startswith(says)


def test_numbers_have_four_digits() -> None:
    written = [text.number(x) for x in (None, 0.0, 1.0, 0.8, 1961.21, 0.000123456, 1.5e-7, 2.5e12, 123456.7)]
    assert written == ["-", "0", "1.000", "0.8000", "1961", "0.0001235", "1.500e-7", "2.500e12", "123457"]


EXPERIMENTS = Path(__file__).parents[3] / "experiments"
# What breaks the algorithm in an experiment that must agree. Those whose runs take long are left out:
# grieco-mascolo, Tables 7 to 10 and Figures 9 and 10.
MUTATIONS = [
    ("sigcomm2000/fig-02", "flow.tfrc.tfrc.discounting=off"),
    ("sigcomm2000/fig-02", "flow.tfrc.tfrc.weights=constant"),
    ("sigcomm2000/fig-20", "flow.tfrc.tfrc.weights=constant"),
    ("gtfrc/figure-2", "flow.*.tfrc.receive_limit=unlimited"),
]
# What breaks the closed forms, and the tables of RFC 4828 that show it.
BROKEN = [
    ("no timeouts in the equation", "7.34 *", "0.0 *", ["01", "02", "03", "04"]),
    ("headers left out", "MOST_PACKETS = 40,", "MOST_PACKETS = 0,", ["01", "02", "03", "04"]),
    ("no Min Interval", "1460, 100\n", "1460, 1000000\n", ["02", "04"]),
]


def agreeing(found: dict[str, Any]) -> int:
    """Cells that agree with the print, and claims that hold."""
    return int(found["tally"]["print"]["agree"] + found["tally"]["claims_held"])


@pytest.mark.skipif(not EXPERIMENTS.is_dir(), reason="only in a checkout")
@pytest.mark.parametrize(("id", "change"), MUTATIONS)
def test_a_broken_algorithm_turns_an_experiment_red(id: str, change: str) -> None:
    [experiment] = library.load(EXPERIMENTS, [id])
    # The first step of seeds is enough to disagree.
    experiment.runs, experiment.runs_reason = experiment.first_runs if experiment.deterministic else 10, "a mutation"
    experiment.variants.clear()
    plain, broken = (
        runner.run([experiment], changes=changes)["experiments"][0] for changes in ((), (change,))
    )
    assert plain["tally"]["claims_held"] == plain["tally"]["claims"]
    was_red = plain["verdict"] == "disagrees"
    assert broken["verdict"] == "disagrees" and (not was_red or agreeing(broken) < agreeing(plain))


@pytest.mark.skipif(not EXPERIMENTS.is_dir(), reason="only in a checkout")
@pytest.mark.parametrize(("what", "old", "new", "tables"), BROKEN)
def test_a_broken_closed_form_turns_its_tables_red(
    tmp_path: Path, what: str, old: str, new: str, tables: Sequence[str]
) -> None:
    shutil.copytree(EXPERIMENTS / "rfc4828", tmp_path / "rfc4828")
    path = tmp_path / "rfc4828" / "closed_form.py"
    program = path.read_text(encoding="utf-8")
    assert old in program, what

    def verdicts_of() -> dict[str, str]:
        found = library.load(tmp_path, [f"rfc4828/table-{number}" for number in tables])
        return {one["id"][-2:]: one["verdict"] for one in runner.run(found)["experiments"]}

    assert verdicts_of() == dict.fromkeys(tables, "agrees-with-print")
    path.write_text(program.replace(old, new), encoding="utf-8")
    assert verdicts_of() == dict.fromkeys(tables, "disagrees")
