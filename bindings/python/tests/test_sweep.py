"""Sweeps: the results of the program, on one machine and on a cluster that loses a worker."""

import os
import signal
from pathlib import Path

import polars
import pytest
from distributed import Client, LocalCluster

import tfrc
from tfrc import _sweep

SHORT = {"duration": "4s", "warmup": "1s"}
AXES = {"link.near-far.rate": ["1Mbit/s", "2Mbit/s"], "flow.0.count": [1, 2]}


def of_program(program, axes, runs, *more):
    """The document of the program for the same sweep, on one thread."""
    changes = [f"{key}={value}" for key, value in SHORT.items()] + [_sweep._sweep_assignment(axes)]
    arguments = [word for change in changes for word in ("--set", change)]
    return program("sim", "bottleneck", *arguments, "--runs", runs, "--jobs", 1, "--json", *more)


def test_a_sweep_on_one_machine_is_the_program(program, tmp_path):
    result = tfrc.sweep("bottleneck", AXES, 3, set=SHORT, cache=None, out=tmp_path)
    assert result.to_json() + "\n" == of_program(program, AXES, 3)
    assert list(result.flows["link.near-far.rate"]) == [1e6] * 9 + [2e6] * 9
    assert result.axes == {"link.near-far.rate": "bit/s", "flow.0.count": ""}
    for name, table in (("flows", result.flows), ("links", result.links)):
        written = polars.read_parquet(tmp_path / f"{name}.parquet")
        assert written.sort("point", "run", "id").equals(polars.DataFrame(table).sort("point", "run", "id"))


def test_a_sweep_has_time_series(tmp_path):
    axes = {"link.near-far.rate": ["1Mbit/s", "2Mbit/s"]}
    result = tfrc.sweep("bottleneck", axes, 2, set=SHORT, cache=tmp_path, interval=0.5)
    # Those of the scenario with this sweep of its own; the cache is not asked.
    text = next(one.text for one in tfrc.scenarios() if one.name == "bottleneck")
    text += '\n[[sweep]]\nset = "link.near-far.rate"\nvalues = ["1Mbit/s", "2Mbit/s"]\n'
    whole = tfrc.simulate(text, set=SHORT, runs=2, interval=0.5)
    again = tfrc.sweep("bottleneck", axes, 2, set=SHORT, cache=tmp_path, interval=0.5)
    for series in (result.series, again.series):
        assert polars.DataFrame(series).equals(polars.DataFrame(whole.series))
    assert list(dict.fromkeys(result.series["link.near-far.rate"])) == [1e6, 2e6]
    assert tfrc.sweep("bottleneck", axes, 2, set=SHORT, cache=tmp_path).series is None


def test_a_sweep_is_drawn_with_intervals():
    start = {"flow.0.start": "uniform 0s 1s"}
    axes = {"link.near-far.rate": ["1Mbit/s", "2Mbit/s"], "link.near-far.delay": ["10ms", "50ms"]}
    result = tfrc.sweep("bottleneck", axes, 3, set=SHORT | start, cache=None)
    [area] = result.plot(x="link.near-far.rate").axes
    curves, labels = area.get_legend_handles_labels()
    assert labels == ["tfrc, delay 10 ms", "tfrc, delay 50 ms"]
    flows = polars.DataFrame(result.flows)
    for curve, delay in zip(curves, [0.01, 0.05]):
        here = flows.filter(polars.col("link.near-far.delay") == delay)
        means = here.group_by("link.near-far.rate", maintain_order=True).agg(polars.col("goodput_bps").mean())
        line, _, [bars] = curve.lines
        assert list(line.get_xdata()) == [1.0, 2.0]
        assert list(line.get_ydata() * 1e6) == pytest.approx(list(means["goodput_bps"]))
        assert all(bar[1][1] >= bar[0][1] for bar in bars.get_segments())
        assert any(bar[1][1] > bar[0][1] for bar in bars.get_segments())
    assert area.get_xlabel() == "rate of link near-far, Mbit/s" and area.get_ylabel() == "goodput, Mbit/s"
    assert area.get_title("left") == "means of 3 runs, and their 95 % intervals"
    [area] = result.plot(x="link.near-far.delay", y="utilization").axes
    assert len(area.get_legend_handles_labels()[1]) == 4
    with pytest.raises(ValueError, match="no sweep of 'rate'; there are link.near-far.rate"):
        result.plot(x="rate")
    with pytest.raises(ValueError, match="no figure 'colour'"):
        result.plot(x="link.near-far.rate", y="colour")


def test_a_bare_number_is_a_question():
    with pytest.raises(tfrc.ScenarioError, match="20Mbit/s or 20kbit/s"):
        tfrc.sweep("bottleneck", {"link.near-far.rate": [20]}, cache=None)
    with pytest.raises(tfrc.ScenarioError, match="1% or 100%"):
        tfrc.simulate("bottleneck", set={"link.near-far.loss": 1})


def test_a_repeated_sweep_comes_from_the_cache(monkeypatch, tmp_path):
    ran = []
    real = _sweep._native.run_one

    def counted(*arguments):
        ran.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(_sweep._native, "run_one", counted)
    first = tfrc.sweep("bottleneck", AXES, 2, set=SHORT, cache=tmp_path)
    assert len(ran) == 8
    again = tfrc.sweep("bottleneck", AXES, 2, set=SHORT, cache=tmp_path)
    assert len(ran) == 8 and again.to_json() == first.to_json()
    # A grown sweep does only what is new; another seed is another run.
    tfrc.sweep("bottleneck", AXES, 3, set=SHORT, cache=tmp_path)
    assert len(ran) == 12
    tfrc.sweep("bottleneck", AXES, 2, set=SHORT, cache=tmp_path, seed=5)
    assert len(ran) == 20


def test_what_was_done_before_a_failure_is_kept(monkeypatch, tmp_path):
    real, ran = _sweep._native.run_one, []

    def broken(*arguments):
        if len(ran) == 5:
            raise RuntimeError("enough")
        ran.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(_sweep._native, "run_one", broken)
    with pytest.raises(RuntimeError, match="enough"):
        tfrc.sweep("bottleneck", AXES, 2, set=SHORT, cache=tmp_path, jobs=1)
    monkeypatch.setattr(_sweep._native, "run_one", lambda *arguments: ran.append(arguments) or real(*arguments))
    tfrc.sweep("bottleneck", AXES, 2, set=SHORT, cache=tmp_path, jobs=1)
    # Eight runs, and at most those twice that were under way.
    assert 8 <= len(ran) <= 10


def test_the_program_and_a_sweep_share_a_cache(monkeypatch, program, tmp_path):
    ran = []
    monkeypatch.setattr(_sweep._native, "run_one", lambda *arguments: ran.append(arguments))
    folder = str(tmp_path)
    whole = of_program(program, AXES, 2, "--cache", folder)
    result = tfrc.sweep("bottleneck", AXES, 2, set=SHORT, cache=tmp_path)
    assert not ran and result.to_json() + "\n" == whole
    assert of_program(program, AXES, 2, "--cache", folder) == whole


def test_a_cache_that_takes_no_more_loses_no_results(tmp_path):
    file = tmp_path / "file"
    file.write_text("no folder")
    with pytest.warns(RuntimeWarning, match=f"{file}.*this run and those to come"):
        result = tfrc.sweep("bottleneck", AXES, 2, set=SHORT, cache=file)
    assert len(result.flows["run"]) == 12


@pytest.mark.parametrize(
    ("axes", "error"),
    [
        ({}, ValueError),
        ({"link.near-far.rate": []}, tfrc.ScenarioError),
        ({"link.near-far.rat": ["1M"]}, tfrc.ScenarioError),
        ({"link.near-far.rate": ["1Mbit/x"]}, tfrc.ScenarioError),
    ],
)
def test_mistakes_show_before_anything_runs(axes, error):
    with pytest.raises(error):
        tfrc.sweep("bottleneck", axes, cache=None)


def test_sweeps_of_the_scenario_are_refused():
    text = next(one.text for one in tfrc.scenarios() if one.name == "bottleneck")
    text += '\n[[sweep]]\nset = "seed"\nvalues = [1, 2]\n'
    with pytest.raises(ValueError, match="as axes"):
        tfrc.sweep(text, AXES, cache=None)


@pytest.fixture
def cluster(tmp_path):
    with LocalCluster(
        n_workers=4,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        local_directory=str(tmp_path),
    ) as cluster:
        yield cluster


def test_a_cluster_that_loses_a_worker_gives_every_run(cluster, program, monkeypatch, tmp_path):
    axes, runs, killed, pids = {"flow.0.count": [1, 2]}, 500, [], []
    with Client(cluster) as client:
        pids += client.run(os.getpid).values()
        real = _sweep._Store.put

        def put(store, key, outcome):
            real(store, key, outcome)
            put.count += 1
            if put.count == 300:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(pids[0])

        put.count = 0
        monkeypatch.setattr(_sweep._Store, "put", put)
        result = tfrc.sweep("bottleneck", axes, runs, set=SHORT, client=client, cache=tmp_path)
        assert put.count == 1000 and len(pids) == 4
        assert killed and not Path(f"/proc/{killed[0]}").exists()
    assert result.to_json() + "\n" == of_program(program, axes, runs)
