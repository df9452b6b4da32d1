"""A small experiment, `p/x`, that the tests of the laboratory run and break."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Optional

from tfrc.lab import Experiment, library
from tfrc.lab.judge import Measured, Sample, judge

SCENARIO = """
duration = "4s"
warmup = "1s"
nodes = ["a", "b"]
link = [{ name = "path", from = "a", to = "b", rate = "1Mbit/s", delay = "10ms", queue = "10p", loss = "1%" }]
flow = [{ name = "one", kind = "tfrc", from = "a", to = "b", start = "uniform 0s 1s" }]
"""
EXPERIMENT = """
from tfrc.lab import Experiment, Paper, Quick

figure = Experiment(
    Paper("S"), "Fig. 1", "T", keys={"loss": ["link.path.loss"]}, runs=10, rfc_runs=2, quick=Quick(2, rows=["1%"])
)


@figure.run(set=["link.path.rate=2Mbit/s"])
def one(run):
    return {"kbps": run.flow("one", "send_rate_bps") / 1000, "probe": run.link("path", "drop_rate")}


figure.columns("kbps")
figure.columns("probe", band="drop")
figure.claim("falls", lambda t: t["5%", "kbps"] / t["1%", "kbps"], between=(0.1, 0.9))
figure.variant("slow", "assumed: link.path.rate", ["link.path.rate=200kbit/s"], rows=["1%"])
"""
PUBLISHED = "# made up\nloss,kbps\n1%,900\n5%,300\n"


def put(folder: Path, id: str = "p/x", **texts: str) -> Path:
    """Writes the files of the experiment into a folder of experiments, some of them with other
    texts."""
    at = folder / id
    at.mkdir(parents=True, exist_ok=True)
    files = {"experiment_py": EXPERIMENT, "scenario_toml": SCENARIO, "published_csv": PUBLISHED}
    for name, text in {**files, **texts}.items():
        (at / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return folder


def changed(old: str, new: str) -> str:
    """The program of the experiment with one change."""
    assert old in EXPERIMENT, old
    return EXPERIMENT.replace(old, new)


def load(folder: Path) -> list[Experiment]:
    return library.load(folder, ["all"])


def runs_of(mean: float, deviation: float, count: int = 10) -> list[float]:
    """Runs about a mean with this sample deviation."""
    half = deviation * math.sqrt((count - 1) / count)
    return [mean + half if i % 2 == 0 else mean - half for i in range(count)]


def judged(folder: Path, values: tuple[float, float], ns2: Optional[str] = None) -> dict[str, Any]:
    """The result of `p/x` with ten made-up runs of hardly any scatter: means of `kbps` in its two
    rows."""
    if ns2 is not None:
        (folder / "p" / "x" / "ns2.csv").write_text(ns2, encoding="utf-8")
    [experiment] = load(folder)
    samples = {}
    for row, value in zip(experiment.published.rows, values):
        samples[row.name, "kbps"] = Sample(runs_of(value, 1e-6), 10)
        samples[row.name, "probe"] = Sample(runs_of(0.02, 1e-6), 10)
    return judge(experiment, Measured({"as-published": samples}), 10)
