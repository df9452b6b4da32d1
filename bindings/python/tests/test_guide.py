"""The Python code of the guide and of README.md, which runs as it stands."""

import re
from pathlib import Path

import matplotlib
import pytest

from tfrc.lab import cli

ROOT = Path(__file__).resolve().parents[3]
PAGES = ("README.md", "docs/guides/python.md", "docs/guides/custom-algorithms.md")


def blocks():
    for page in PAGES:
        text = (ROOT / page).read_text()
        for found in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S):
            line = text[: found.start(1)].count("\n") + 1
            yield pytest.param(found[1], id=f"{page}:{line}")


@pytest.mark.parametrize("code", list(blocks()))
def test_code_of_the_guide_runs(code, tmp_path, monkeypatch):
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "guide", "exec"), {})
    for name in re.findall(r'savefig\("(.*?)"', code):
        assert (tmp_path / name).stat().st_size > 10_000


def test_each_page_has_code():
    found = [block.id for block in blocks()]
    assert all(any(one.startswith(page) for one in found) for page in PAGES)


def test_the_experiment_of_the_guide_runs_from_an_empty_folder(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs/guides/experiment.md").read_text(encoding="utf-8")

    def block(language, start=""):
        return re.search(rf"^```{language}\n({start}.*?)^```$", text, re.M | re.S)[1]

    (tmp_path / "mine").mkdir()
    for language, name in ("toml", "scenario.toml"), ("csv", "published.csv"), ("py", "experiment.py"):
        (tmp_path / "mine" / name).write_text(block(language), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", "mine", "--no-cache"]) == 0
    assert capsys.readouterr().out.endswith(block("text", "Agrees"))
