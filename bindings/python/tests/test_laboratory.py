"""The experiments of the literature."""

import json
import pathlib
import re
import shutil
import xml.etree.ElementTree

import pytest

import tfrc

# An experiment that is computed, not simulated.
COMPUTED = "rfc4828/table-01"


def test_experiments_are_those_of_the_program(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ours = [vars(one) for one in tfrc.experiments()]
    assert ours == json.loads(program("reproduce", "list", "--json"))["experiments"]
    assert len(tfrc.experiments("sigcomm2000")) > 10
    assert COMPUTED in [one.id for one in tfrc.experiments("rfc4828")]


def test_an_unknown_experiment_is_refused():
    with pytest.raises(tfrc.ExperimentError, match="rfc4829"):
        tfrc.experiments("rfc4829")
    with pytest.raises(tfrc.ExperimentError):
        tfrc.reproduce("rfc4829")
    with pytest.raises(ValueError, match="all"):
        tfrc.reproduce()


def test_reproduce_is_the_program(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = tfrc.reproduce(COMPUTED, cache=None)
    assert result.to_json() + "\n" == program("reproduce", COMPUTED, "--json", "--no-cache")
    assert result.verdicts == {COMPUTED: "agrees-with-print"}
    assert all(cell["experiment"] == COMPUTED for cell in result.cells)
    assert result.cells and "verdict" in result.cells[0]
    result.write(tmp_path / "report")
    assert (tmp_path / "report" / "index.html").exists()


@pytest.mark.parametrize(
    ("formula", "refused"), [("1" + "+1" * 300_000, True), ("goodput('new', 0, 1e15)", False)]
)
def test_no_formula_ends_the_interpreter(tmp_path, formula, refused):
    checkout = pathlib.Path(__file__).parents[3] / "experiments" / "bansal2001"
    shutil.copytree(checkout, tmp_path / "bansal2001")
    file = tmp_path / "bansal2001" / "joining-flow" / "experiment.toml"
    text = file.read_text()
    file.write_text(re.sub(r'value = "[^"]*"', f'value = "{formula}"', text, count=1))
    if refused:
        with pytest.raises(tfrc.ExperimentError, match="2000 values"):
            tfrc.reproduce("bansal2001/joining-flow", folder=tmp_path, quick=True, cache=None)
    else:
        tfrc.reproduce("bansal2001/joining-flow", folder=tmp_path, quick=True, cache=None)


def test_a_quick_run_has_a_figure(tmp_path):
    result = tfrc.reproduce("sigcomm2000/fig-05", quick=True, cache=tmp_path / "cache")
    root = xml.etree.ElementTree.fromstring(result.svg())
    assert root.tag.endswith("svg")
    assert result._repr_svg_() == result.svg()
    again = tfrc.reproduce("sigcomm2000/fig-05", quick=True, cache=tmp_path / "cache")
    assert again.to_json() == result.to_json()
