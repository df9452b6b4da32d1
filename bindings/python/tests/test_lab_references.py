"""References by ns-2: runs by a made-up `ns`, tables of their lines, what a receiver prints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tfrc.lab import cli
from tfrc.lab.experiment import BadExperiment
from tfrc.lab.references import References, counted, digits, losses

PLAN = """
[runs.mix]
file = "testdata/mix.csv"
about = "ns-2 on a mix"
script = "mix.tcl"
arguments = "n={flows} L={l}"
keys = ["flows", "l"]
points = [{ flows = ["4", "8"], l = ["16"], seeds = 3 }, { flows = ["64"], l = ["8"], seeds = 1 }]
columns = ["rate=tcp", "at_1", "at_2"]
words = { "16" = "sixteen more=1" }

[[table]]
experiment = "p/x"
about = ["of a test"]
keys = ["flows", "at"]
columns = [
    { name = "kbps", runs = "mix", of = "rate", where = { l = "16" } },
    { name = "over", runs = "mix", of = "at_{at}", over = "rate", less = 1.0, rows = ["4"] },
]
"""
# Prints the number of its last argument, `seed=N`, and those of a list.
NS = r"""#!/bin/sh
for last; do :; done
n=${last#seed=}
echo "$@" >> calls
printf 'R tcp %s00.12345678\nR at %s,2e2\n' $n $n >&2
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in [
        ("experiments/ns2/scripts/references.toml", PLAN), ("bin/ns", NS),
        ("experiments/p/x/published.csv", "# made up\nflows,at,kbps\n4,2,1\n8,1,2\n64,1,3\n"),
    ]:  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "bin/ns").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_missing_runs_are_done_and_tables_are_made_of_them(checkout: Path) -> None:
    command = ["--experiments", str(checkout / "experiments"), "reference"]
    assert cli.main([*command, "mix", "--seeds", "1", "--where", "l=16"]) == 0
    calls = checkout / "calls"
    script = str(checkout / "experiments/ns2/scripts/mix.tcl")
    assert calls.read_text(encoding="utf-8").splitlines() == [
        f"{script} n={n} L=sixteen more=1 seed=1" for n in ("4", "8")
    ]
    assert cli.main([*command, "mix", "--minutes", "0"]) == 0
    assert len(calls.read_text(encoding="utf-8").splitlines()) == 2
    for _ in range(2):
        assert cli.main([*command, "mix"]) == 0
    lines = (checkout / "testdata/mix.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# ns-2 on a mix: ns experiments/ns2/scripts/mix.tcl n={flows} L={l} seed=SEED"
    assert lines[1:4] == ["flows,l,seed,rate,at_1,at_2", "4,16,1,100.123,1,200", "8,16,1,100.123,1,200"]
    assert len(lines) == 2 + 2 * 3 + 1 and lines[4].startswith("64,8,1,"), "all rows of a seed before the next"
    assert cli.main(command) == 0
    # 100.123, 200.123 and 300.123: a deviation of 100, t of 2 degrees of freedom 4.303. 200 over each, less 1:
    # 0.9975, -0.0006 and -0.3336, a deviation of 0.6926.
    assert (checkout / "experiments/p/x/ns2.csv").read_text(encoding="utf-8").splitlines() == [
        "# of a test", "# ns-2.35, means over the seeds of testdata/mix.csv (tfrc-lab reference); seeds: 3",
        "flows,at,kbps,kbps_ci95,over,over_ci95", "4,2,200.1,248,0.2211,1.72", "8,1,200.1,248,,",
    ]  # fmt: skip


def test_mistakes_of_a_plan_and_of_ns2_are_named(checkout: Path) -> None:
    plan = References(checkout)
    with pytest.raises(BadExperiment, match="no set of runs 'mx'; there are mix"):
        plan.fill("mx")
    (checkout / "bin/ns").write_text("#!/bin/sh\necho no such queue >&2\nexit 1\n", encoding="utf-8")
    with pytest.raises(BadExperiment, match="mix.tcl n=4 L=sixteen more=1 seed=1: no such queue"):
        plan.fill("mix")
    (checkout / "testdata/mix.csv").write_text("flows,seed,rate\n", encoding="utf-8")
    with pytest.raises(BadExperiment, match="mix.csv has the columns"):
        plan.fill("mix")


def test_loss_events_after_a_time_are_counted() -> None:
    printed = (
        "time: 40.0 loss_rate: 0.5 \n40.0: sample 0:     9 1:    10 2:     7 3:     3\n"
        "time: 41.0 loss_rate: 0.25 \n"
        "time: 41.0 sample 0:    1 loss_rate: 0.25 \n41.0: sample 0:     1 1:    30 2:    10 3:     7\n"
        "time: 51.0 loss_rate: 0.125 \n51.0: sample 0:     1 1:    50 2:    30 3:    10\n"
        "time: 52.0 loss_rate: 0.1 \n52.0: sample 0:     9 1:    50 2:    30 3:    10\n"
        "time: 53.0 loss_rate: 0.375 \n53.0: sample 0:     9 1:    30 2:    50 3:    30\n"
    )
    found = losses(printed, 50.0)
    assert (found["p"], found["p_hat"]) == (0.025, 0.25)
    assert (found["interval_mean"], found["interval_cv"], found["interval_p10"]) == (40.0, 0.25, pytest.approx(32.0))
    assert losses(printed, 52.5) == {}


def test_digits_and_counts() -> None:
    written = [digits(x, 4) for x in (1961.21, 0.005922, 0.0, 12.0, 0.5, 123456.0)]
    assert written == ["1961", "0.005922", "0", "12", "0.5", "123456"]
    assert counted([("4", 30), ("8", 30), ("16", 0)]) == "30"
    assert counted([("4", 10), ("4", 10), ("8", 5), ("9", 10)]) == "10 (4, 9); 5 (8)"


ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(not (ROOT / "experiments").is_dir(), reason="only in a checkout")
def test_the_tables_of_the_repository_are_those_of_its_runs() -> None:
    plan = References(ROOT)
    assert len(plan.tables) > 20
    for table in plan.tables:
        path = ROOT / "experiments" / table["experiment"] / "ns2.csv"
        assert path.read_text(encoding="utf-8") == plan.table(table), path
        for column in table["columns"]:
            assert set(column.get("where", {})) <= set(plan.runs[column["runs"]]["keys"]), path
