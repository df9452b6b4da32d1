"""`simulate`: forms of scenarios, results, errors and Ctrl-C."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import tfrc

TEXT = """
duration = "10s"
warmup = "2s"
seed = 7
nodes = ["near", "far"]

[[link]]
name = "line"
from = "near"
to = "far"
rate = "2Mbit/s"
delay = "20ms"
queue = "25p"

[[flow]]
kind = "tfrc"
from = "near"
to = "far"
count = 2
"""

AS_DICT = {
    "duration": "10s",
    "warmup": "2s",
    "seed": 7,
    "nodes": ["near", "far"],
    "link": [
        {"name": "line", "from": "near", "to": "far", "rate": "2Mbit/s", "delay": "20ms", "queue": "25p"}
    ],
    "flow": [{"kind": "tfrc", "from": "near", "to": "far", "count": np.int64(2)}],
}


def test_a_scenario_is_text_a_path_a_name_or_a_dictionary(tmp_path, program):
    file = tmp_path / "bottleneck"
    file.write_text(TEXT)
    from_text = tfrc.simulate(TEXT).to_json()
    assert tfrc.simulate(file).to_json() == from_text
    assert tfrc.simulate(str(file)).to_json() == from_text
    assert tfrc.simulate(AS_DICT).to_json() == from_text
    assert program("sim", file, "--json") == from_text + "\n"
    by_name = tfrc.simulate("bottleneck", set={"duration": "5s", "warmup": "1s"}).to_json()
    assert program("sim", "bottleneck", "--set", "duration=5s", "--set", "warmup=1s", "--json") == by_name + "\n"


def test_values_of_set_have_the_types_of_python(program, tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(TEXT)
    changes = {"seed": 3, "link.line.loss": 0.01, "link.line.rate": "1Mbit/s", "nodes": ["near", "far"]}
    ours = tfrc.simulate(file, set=changes).json()
    theirs = program("sim", file, "--json", "--set", "seed=3", "--set", "link.line.loss=0.01", "--set", "link.line.rate=1Mbit/s")
    assert ours == json.loads(theirs)
    assert ours["seed"] == 3


def test_tables_have_the_figures_of_the_document():
    result = tfrc.simulate(TEXT)
    document = result.json()
    assert result.flows.column_names[:6] == ["run", "point", "seed", "id", "kind", "group"]
    assert set(result.flows["group"]) == {"tfrc-1"}
    assert result.flows["id"] == [flow["id"] for flow in document["flows"]]
    for key in ("send_rate_bps", "goodput_bps", "packet_loss_rate", "loss_event_rate", "rtt_s", "cov"):
        assert list(result.flows[key]) == [flow[key] for flow in document["flows"]], key
    for key in ("utilization", "drop_rate", "mean_queue_packets"):
        assert list(result.links[key]) == [link[key] for link in document["links"]], key
    with pytest.raises(KeyError, match="goodput_bps"):
        result.flows["goodput"]


def test_series_are_those_of_the_program(program, tmp_path):
    file, csv = tmp_path / "a.toml", tmp_path / "a.csv"
    file.write_text(TEXT)
    program("sim", file, "--series", csv, "--interval", "500ms", "--runs", 2)
    theirs = pandas.read_csv(csv, float_precision="round_trip")
    ours = tfrc.simulate(file, interval=0.5, runs=2).series
    assert ours.column_names == list(theirs.columns)
    frame = ours.to_pandas()
    pandas.testing.assert_frame_equal(
        frame.astype({"flow": object, "link": object, "stopped": object, "limit": object}),
        theirs.astype({"flow": object, "link": object, "stopped": object, "limit": object}),
        check_dtype=False,
        check_exact=True,
    )
    assert tfrc.simulate(file, interval=None).series is None


def test_other_libraries_share_the_memory():
    flows = tfrc.simulate(TEXT, runs=3, interval=0.1).series
    table = pyarrow.table(flows)
    again = pyarrow.table(flows)
    assert table.num_rows == len(flows) and table.column_names == flows.column_names

    def address(table):
        return [chunk.buffers()[1].address for chunk in table.column("goodput_bps").chunks]

    # Three parts, one of each run, each at one place.
    assert address(table) == address(again) and len(set(address(table))) == 3
    frame = polars.DataFrame(flows)
    assert frame.height == len(flows) and frame.columns == flows.column_names
    assert frame["goodput_bps"].to_numpy()[5] == flows["goodput_bps"][5]
    assert pyarrow.schema(flows).names == flows.column_names


def test_several_runs_and_sweeps(program, tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(TEXT + '\n[[sweep]]\nset = "link.line.rate"\nvalues = ["1Mbit/s", "2Mbit/s"]\n')
    result = tfrc.simulate(file, runs=2, seed=11)
    assert result.to_json() + "\n" == program("sim", file, "--runs", 2, "--seed", 11, "--json")
    assert list(result.flows["link.line.rate"]) == [1e6] * 4 + [2e6] * 4
    assert list(result.flows["run"]) == [1, 1, 2, 2] * 2
    assert result.to_json() == tfrc.simulate(file, runs=2, seed=11, jobs=1).to_json()


def test_every_scenario_of_the_package_is_listed():
    found = {one.name: one for one in tfrc.scenarios()}
    assert "bottleneck" in found and len(found) > 20
    assert all(len(one.about) > 20 for one in found.values())
    assert found["bottleneck"].text.startswith("# ")


def test_a_mistake_shows_its_place():
    with pytest.raises(tfrc.ScenarioError) as caught:
        tfrc.simulate(TEXT.replace("2Mbit/s", "2Mbit/x"))
    error = caught.value
    assert isinstance(error, tfrc.TfrcError)
    assert (error.line, error.column) == (11, 8)
    lines = str(error).splitlines()
    place = next(number for number, line in enumerate(lines) if '"2Mbit/x"' in line)
    under, written = lines[place + 1], lines[place]
    assert "─" in under and under.index("─") == written.index('"2Mbit/x"')
    assert lines[0] == error.message
    assert "help" in str(error) and error.help


@pytest.mark.parametrize(
    ("scenario", "changes", "says"),
    [
        ("botleneck", {}, "did you mean `bottleneck`?"),
        ("missing.toml", {}, "missing.toml"),
        (Path("bottleneck"), {}, "bottleneck"),
        ("bottleneck", {"link.line.rate": "1M"}, "line"),
        ({"duration": "1s"}, {}, "nodes"),
    ],
)
def test_scenarios_that_are_not_there_are_refused(scenario, changes, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tfrc.ScenarioError) as caught:
        tfrc.simulate(scenario, set=changes)
    assert says in str(caught.value)


@pytest.mark.parametrize("scenario", [3, None, ["a"]])
def test_other_types_are_refused(scenario):
    with pytest.raises(TypeError):
        tfrc.simulate(scenario)


def test_an_interval_is_above_zero():
    for interval in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="interval|time"):
            tfrc.simulate(TEXT, interval=interval)


def test_progress_is_told_and_its_failure_ends_the_runs():
    from tfrc import _native

    reported = []
    _native.simulate("text", TEXT, [], None, 2, 1, None, lambda done, total: reported.append((done, total)))
    assert reported[-1] == (20.0, 20.0)
    assert all(0 <= done <= total for done, total in reported)

    def broken(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        _native.simulate("name", "bottleneck", [], None, 1, 1, None, broken)


def test_a_bar_can_be_asked_for_and_refused():
    for word in (True, "on", False, "off", "auto"):
        tfrc.simulate(TEXT, progress=word)
    with pytest.raises(ValueError, match="auto, off or on"):
        tfrc.simulate(TEXT, progress="loud")


# Virtual time that takes a minute: only the signal ends it sooner.
LONG = """
import threading
from tfrc import _native

reported = []

def progress(done, total):
    if done > 0 and not reported:
        reported.append(done)
        print("running", flush=True)

changes = ["duration=1000000s", "max_memory=64GiB"]
try:
    _native.simulate("name", "bottleneck", changes, None, 4, 2, None, progress)
    print("done", flush=True)
except KeyboardInterrupt:
    print("interrupted", threading.active_count(), flush=True)
"""


def test_ctrl_c_ends_the_runs():
    child = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "running\n"
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=60)
    finally:
        child.kill()
    assert out == "interrupted 1\n"
    assert child.returncode == 0


def test_other_threads_run_meanwhile():
    # A counter in Python gets on while a simulation runs only if the GIL is free.
    import threading

    ticks, over = [], threading.Event()

    def count():
        while not over.is_set():
            ticks.append(None)
            over.wait(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    before = len(ticks)
    tfrc.simulate("dumbbell-perf", interval=None, jobs=1)
    after = len(ticks)
    over.set()
    counter.join()
    assert after - before >= 10


def test_a_plot_has_a_curve_for_each_flow_and_link():
    import matplotlib

    matplotlib.use("agg")
    figure = tfrc.simulate(TEXT).plot()
    rates, queues = figure.axes
    assert [line.get_label() for line in rates.get_lines()] == ["tfrc-1-1", "tfrc-1-2"]
    assert len(queues.get_lines()) == 2
    assert rates.get_lines()[0].get_xdata()[-1] == 10.0
    with pytest.raises(ValueError, match="no run 2"):
        tfrc.simulate(TEXT).plot(run=2)
    with pytest.raises(ValueError, match="interval"):
        tfrc.simulate(TEXT, interval=None).plot()


def test_a_plot_of_many_flows_has_the_mean_of_each_kind():
    import matplotlib

    matplotlib.use("agg")
    result = tfrc.simulate("mix-red", set={"duration": "10s", "warmup": "5s"})
    rates, _ = result.plot().axes
    kinds = dict(zip(result.flows["id"], result.flows["kind"]))
    labels = rates.get_legend_handles_labels()[1]
    assert labels == [f"{kind}, mean of {list(kinds.values()).count(kind)}" for kind in dict.fromkeys(kinds.values())]
    assert len(rates.get_lines()) == len(kinds) + len(labels)
