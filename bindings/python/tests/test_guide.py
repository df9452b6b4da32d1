"""The Python code of the guide and of README.md, which runs as it stands."""

import re
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = ("README.md", "docs/guides/python.md", "docs/guides/own-algorithms.md")


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
