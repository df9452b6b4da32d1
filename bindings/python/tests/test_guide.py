"""The Python code of the guide and of README.md, which runs as it stands."""

import re
from pathlib import Path

import matplotlib
import pytest

from tfrc.lab import cli

ROOT = Path(__file__).resolve().parents[3]
PAGES = ("README.md", "docs/guides/python.md", "docs/guides/custom-algorithms.md", "docs/guides/games.md")


def blocks():
    for page in PAGES:
        text = (ROOT / page).read_text()
        for found in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S):
            line = text[: found.start(1)].count("\n") + 1
            yield pytest.param(text, found[1], id=f"{page}:{line}")


@pytest.mark.parametrize(("page", "code"), list(blocks()))
def test_code_of_the_guide_runs(page, code, tmp_path, monkeypatch, capsys):
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "guide", "exec"), {})
    for name in re.findall(r'savefig\("(.*?)"', code):
        assert (tmp_path / name).stat().st_size > 10_000
    # Rows of a table are those of the page.
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert all(row in page.splitlines() for row in printed), printed
    assert bool(printed) == ('f"| ' in code)


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
