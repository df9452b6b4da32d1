"""The pages of a checkout: lines of an experiment, renewal in part, READMEs, and what a check
finds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from small_experiment import changed, judged, load, put

from tfrc.lab import cli, emulated, library, publish, text

README = "# One\n\nText with a `| bar`.\n\n## Set-up\n\nA link\nand a flow.\n\n## Result\n\nBy hand.\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the experiments `p/x` and `p/y`, which is printed, and `q/z`, which has ns-2
    alone."""
    folder = put(tmp_path / "experiments", experiment_py=changed('"T"', '"Odd <b>|a_title"'))
    put(folder, "p/y", experiment_py=changed("runs=10,", "runs=10, must_agree=True,"))
    beside = changed("runs=10,", 'runs=10, judge="welch",').partition("figure.claim")[0]
    beside = beside.replace('columns("kbps")', 'columns("kbps", against="ns2")').replace('"T"', '"Next to ns-2"')
    seeds = "".join(f"{row},{seed},{900 + seed % 2}\n" for row in ("1%", "5%") for seed in range(10))
    put(
        folder, "q/z", experiment_py=beside, published_csv="loss\n1%\n5%\n", ns2_csv="loss,seed,kbps\n" + seeds,
    )  # fmt: skip
    for id in ("p/x", "p/y", "q/z"):
        (folder / id / "README.md").write_text(README, encoding="utf-8")
    learnt = "# The paper\n\nAbout.\n\n## What was learnt\n\nMuch\nindeed.\n"
    (folder / "p" / "README.md").write_text(learnt, encoding="utf-8")
    (folder / "q" / "README.md").write_text("# Another\n", encoding="utf-8")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "peers.md").write_text(f"# Old\n{publish.BY_HAND}\nOf others.\n", encoding="utf-8")
    return tmp_path


def of(checkout: Path, id: str, values: tuple[float, float]) -> Path:
    """A file of results of one experiment, of made-up values."""
    folder = checkout / "experiments"
    [experiment] = library.load(folder, [id])
    home = checkout / "alone" / "p" / "x"
    home.mkdir(parents=True, exist_ok=True)
    for path in experiment.folder.iterdir():
        if path.is_file():
            (home / path.name).write_bytes(path.read_bytes())
    result = {**judged(checkout / "alone", values), "id": id, "packet_hops": 12_345_678}
    for path in home.iterdir():
        path.unlink()
    file = checkout / f"{id.replace('/', '-')}.json"
    file.write_text(json.dumps({"quick": False, "experiments": [result]}), encoding="utf-8")
    return file


def lab(checkout: Path, *words: Any) -> int:
    return cli.main(["--experiments", str(checkout / "experiments"), *map(str, words)])


def page(checkout: Path, name: str = "docs/results.md") -> str:
    return (checkout / name).read_text(encoding="utf-8")


def test_the_lines_of_an_experiment_and_its_readme(checkout: Path) -> None:
    values = {"p/x": (1200.0, 300.0), "p/y": (900.0, 300.0), "q/z": (900.5, 1500.0)}
    assert lab(checkout, "publish", *(of(checkout, id, some) for id, some in values.items())) == 0
    text = page(checkout)
    item = "### disagrees * [p/x](../experiments/p/x/README.md) (Odd <b>\\|a\\_title): print: 1 of 2 cells agree"
    assert item in " ".join(text.split()) and max(map(len, text.partition("## Tally")[0].splitlines())) <= 100
    assert "\n| p | 1/2 | 0/0 | 1 | 0 | 0 | 0 | 0 | 1 | 0 |\n| all | 1/2 | " in text
    lines = [line for line in text.splitlines() if line.startswith("| [p/x](../experiments/p/x/README.md)")]
    assert lines[0].endswith("| Odd <b>\\|a\\_title | disagrees | - | disagrees | 1/1 |")
    assert lines[1].endswith("| 1/2 |  | 1.167 over print | 1% kbps: 1.333 over print | 10 | 12.35 |")
    assert len(lines) == 2
    assert "| [p/y](../experiments/p/y/README.md) * | T | agrees | - | agrees-with-values | 1/1 |" in text
    readme = page(checkout, "experiments/p/x/README.md")
    said = "**Verdict.** Disagrees with the printed values: 1 of 2 values agree with the print, 1 of 1 claims\nhold."
    image = "![Odd <b>\\|a\\_title](picture.svg)\n\n"
    assert readme == README.replace("# One\n", f"# One\n\n{publish.MARKS[0]}\n{image}{said}\n{publish.MARKS[1]}\n")
    peers = page(checkout, "docs/peers.md")
    assert "| q/z | Next to ns-2 | 2 | 1 | 1 | 0 |" in peers
    assert "## Next to ns-2\n\nA link and a flow.\n\n10 seeds." in peers
    assert "| 1% | kbps | 900.5 | 900.5 | 1.000 | 0.1 | agrees |" in peers
    assert peers.endswith(f"{publish.BY_HAND}\nOf others.\n") and "[q/z]" not in text
    assert "1 of 2 values agree with ns-2." in page(checkout, "experiments/q/z/README.md")


def test_results_renew_a_page_in_part(checkout: Path) -> None:
    values = {"p/x": (1200.0, 300.0), "p/y": (900.0, 300.0), "q/z": (900.5, 900.5)}
    assert lab(checkout, "publish", *(of(checkout, id, some) for id, some in values.items())) == 0
    whole = page(checkout)
    # Without results everything is written as it is.
    assert lab(checkout, "publish") == 0 and page(checkout) == whole and lab(checkout, "check") == 0
    assert lab(checkout, "publish", of(checkout, "p/x", (905.0, 300.0)), "--changed-by", "0123abc") == 0
    part = page(checkout)
    lines = {line for line in whole.splitlines() if "[p/y]" in line}
    assert lines <= set(part.splitlines()) and "| all | 2/2 |" in part and "### disagrees" not in part
    # What was not run is named with the commit, until it is.
    assert part.count("Before `0123abc`:\n\n* `p/y`\n\n") == 1 and "`p/x`" not in part
    assert lab(checkout, "publish", of(checkout, "p/y", (900.0, 300.0))) == 0 and "0123abc" not in page(checkout)
    assert "Agrees with the printed values: both values agree" in page(checkout, "experiments/p/x/README.md")


def test_a_title_that_changes_loses_nothing(checkout: Path) -> None:
    (checkout / "experiments/p/x/emulated.csv").write_text(
        "# kernel: 6.1\n# first day: 2026-01-02\n# last day: 2026-01-02\n"
        "row,run,column,mean,ci95,runs,note\n1%,one,kbps,800,5,3,\n1%,one,fidelity.rate_error,0.001,,0,\n",
        encoding="utf-8",
    )
    file = of(checkout, "p/x", (1200.0, 300.0))
    for id, title in (("p/x", "Odd <b>|a_title"), ("q/z", "Next to ns-2")):
        assert lab(checkout, "publish", file if id == "p/x" else of(checkout, id, (900.5, 900.5))) == 0
        names = ["docs/results.md", "docs/peers.md", f"experiments/{id}/README.md"]
        before = [" ".join(page(checkout, name).split()) for name in names]
        path = checkout / "experiments" / id / "experiment.py"
        path.write_text(path.read_text(encoding="utf-8").replace(title, "A new_one"), encoding="utf-8")
        assert lab(checkout, "check") == 3 and lab(checkout, "publish") == 0
        after = [" ".join(page(checkout, name).split()) for name in names]
        old, new = (text.plain(title), "A new\\_one") if id == "p/x" else (title, "A new_one")
        assert after == [words.replace(old, new) for words in before] and after != before
    assert "| Linux 6.1, 2026-01-02 | rates within 0.10 %, " in page(checkout)


def test_a_check_finds_what_was_written_by_hand(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lab(checkout, "publish", of(checkout, "p/x", (900.0, 300.0)), of(checkout, "p/y", (900.0, 300.0))) == 0
    for name, old, new in [
        ("experiments/p/x/README.md", "both values", "all 3 values"),
        ("experiments/p/y/README.md", publish.MARKS[0], ""),
        ("docs/results.md", "| all | 2/2 |", "| all | 1/2 |"),
    ]:
        right = page(checkout, name)
        (checkout / name).write_text(right.replace(old, new), encoding="utf-8")
        capsys.readouterr()
        assert lab(checkout, "check") == 3 and name in capsys.readouterr().err
        (checkout / name).write_text(right, encoding="utf-8")
    # A text around the marks is anybody's.
    path = checkout / "experiments/p/x/README.md"
    path.write_text(page(checkout, "experiments/p/x/README.md").replace("By hand.", "Otherwise."), encoding="utf-8")
    assert lab(checkout, "check") == 0
    assert lab(checkout, "check", "--sample", "any") == 3 and "now:   " in capsys.readouterr().err


def test_a_check_runs_some_again(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = checkout / "out"
    assert lab(checkout, "run", "p", "--no-cache", "--json", "--out", out) in (0, 3)
    assert lab(checkout, "publish", out / "results.json") == 0 and lab(checkout, "check", "--sample", "abc") == 0
    pages = publish.Pages.read(load(checkout / "experiments"), checkout / "docs")
    pages.entries = {f"p/{i}": pages.entries["p/x"] for i in range(9)}
    chosen = publish.sample(pages, "abc")
    assert len(chosen) == 3 and chosen == publish.sample(pages, "abc")
    assert any(publish.sample(pages, str(i)) != chosen for i in range(20))
    pages.entries["p/0"].before = "0123abc"
    assert publish.sample(pages, "abc") == [], "the nine are one entry"


def test_each_figure_is_a_picture_in_its_readme_and_in_the_gallery(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    picture, image = checkout / "experiments" / "p" / "x" / "picture.svg", "![Odd <b>\\|a\\_title]"
    file = of(checkout, "p/x", (900.0, 300.0))
    assert lab(checkout, "publish", file) == 0 and lab(checkout, "check") == 0
    drawn = picture.read_bytes()
    assert drawn.startswith(b"<svg") and b"Date" not in drawn and len(drawn) < publish.MOST_BYTES
    assert f"{image}(picture.svg)\n\n**Verdict.**" in page(checkout, "experiments/p/x/README.md")
    assert f"{image}(../experiments/p/x/picture.svg)" in page(checkout, "docs/gallery.md")
    assert "p/y" not in page(checkout, "docs/gallery.md"), "nothing of it was drawn"
    picture.write_bytes(b"old")
    assert lab(checkout, "publish", file) == 0 and picture.read_bytes() == drawn
    # A table next to ns-2 alone has none.
    assert lab(checkout, "publish", of(checkout, "q/z", (900.5, 1500.0))) == 0
    assert not (checkout / "experiments" / "q" / "z" / "picture.svg").exists()
    monkeypatch.setattr(publish, "MOST_BYTES", 1000)
    picture.write_bytes(b"old")
    assert lab(checkout, "publish", file) == 0 and "fewer panels" in capsys.readouterr().err
    assert picture.read_bytes() == b"old"


def test_the_head_of_the_results_says_what_holds(checkout: Path) -> None:
    assert "What holds" not in page_after(checkout)
    for id in ("p/x", "p/y"):
        path = checkout / "experiments" / id / "experiment.py"
        says = path.read_text(encoding="utf-8").replace('Paper("S")', 'Paper("S", holds="All of it.", unknown="Why.")')
        path.write_text(says, encoding="utf-8")
    assert lab(checkout, "publish", of(checkout, "p/x", (900.0, 300.0))) == 0
    text = page_after(checkout)
    assert "## What holds (experiments that agree, of all)\n\n* [p](../experiments/p/README.md) (1 of 2): All of it.\n" in text
    assert "## What cannot be known\n\n* [p](../experiments/p/README.md): Why.\n" in text and "does not\n" not in text
    assert text.index("What cannot be known") < text.index("## Findings")


def page_after(checkout: Path) -> str:
    """The results as they are written anew."""
    assert lab(checkout, "publish") == 0
    return page(checkout)


def test_quick_results_and_strange_ones_are_not_published(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = of(checkout, "p/x", (900.0, 300.0))
    document = json.loads(file.read_text(encoding="utf-8"))
    for change, says in [({"quick": True}, "have no verdicts"), ({"experiments": [{"id": "p/none"}]}, "p/none")]:
        file.write_text(json.dumps({**document, **change}), encoding="utf-8")
        assert lab(checkout, "publish", file) == 2 and says in capsys.readouterr().err
    assert not (checkout / "docs/results.md").exists()


def test_tables_have_their_bars(checkout: Path) -> None:
    assert lab(checkout, "publish", of(checkout, "p/x", (1200.0, 300.0))) == 0
    text = page(checkout)
    for part in text.split("\n\n"):
        lines = [line for line in part.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) <= 1, part
    assert "| not-run: never |" in text and "Not run: never." in page(checkout, "experiments/p/y/README.md")


def browsed(checkout: Path, *words: str) -> dict[str, str]:
    """The pages of a run in the quick form."""
    out = checkout / "pages"
    assert lab(checkout, "run", "p", "--quick", "--no-cache", "--json", "--out", out, *words) == 0
    return {path.name: path.read_text(encoding="utf-8") for path in out.iterdir()}


def test_a_page_has_figure_verdict_claims_cells_and_readme_in_this_order(checkout: Path) -> None:
    (checkout / "experiments/p/x/README.md").write_text(
        f"{README}\n{publish.MARKS[0]}\nOld.\n{publish.MARKS[1]}\n\n</script><script>alert(1)</script>\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n[here](../README.md) [there](https://example.org/)\n",
        encoding="utf-8",
    )
    page_ = browsed(checkout)["p-x.html"]
    order = [
        "<h1>Odd &lt;b&gt;|a_title</h1>", '<img src="p-x.svg"', "<strong>Is open against the printed values: ",
        "<th>verdict</th><th>claim</th>", "<th>verdict</th><th>row</th>", "undetermined: fewer than 10 seeds",
        "<h2>Set-up</h2>", "tfrc-lab run p/x", "<summary>experiment.py", "<summary>scenario.toml", "made up",
    ]  # fmt: skip
    assert sorted(order, key=page_.index) == order
    assert "<script" not in page_ and "Old." not in page_ and "Odd <b>" not in page_ and "<td>2</td>" in page_
    assert "../README.md" not in page_ and 'href="https://example.org/"' in page_ and "src=" in page_
    # The verdict is the first column, and stays in view when the table is moved: on every screen.
    assert "td:first-child, .text th:first-child { position: sticky; left: 0;" in page_
    assert "width=device-width" in page_ and "overflow-x: auto" in page_


def test_the_index_has_the_figures_by_paper_and_the_claims_that_fail(checkout: Path) -> None:
    program = changed("(0.1, 0.9)", "(0.1, 0.34)").replace(', rows=["1%"])\n)', ")\n)")
    put(checkout / "experiments", experiment_py=program)
    files = browsed(checkout)
    index = files["index.html"]
    assert index.count("<section>") == 2 and index.index("The paper") < index.index('<img src="p-x.svg"')
    failing = "Claims of the print that do not hold"
    table = index.partition(failing)[2]
    assert "p/x: falls" in table and "p/y: " not in table
    lines = files["p-x.csv"].splitlines()
    assert lines[0].startswith("row,column,published,ns2,measured") and lines[1].startswith("1%,kbps,900.0,,")


EXPERIMENTS = Path(__file__).parents[3] / "experiments"


@pytest.mark.skipif(not EXPERIMENTS.is_dir(), reason="only in a checkout")
def test_the_pages_of_the_repository_are_what_the_results_say() -> None:
    found = library.load(EXPERIMENTS, ["all"])
    pages = publish.Pages.read(found, EXPERIMENTS.parent / "docs")
    wrong = [path for path, text in pages.files() if path.read_text(encoding="utf-8") != text]
    assert not wrong, "`tfrc-lab publish` writes them"
    assert len(pages.entries) > 80 and len(pages.peers) == 7
    for one in found:
        if one.emulated is not None and not one.long:
            fields = f"| {one.emulated.words} | {emulated.worst(one.emulated)} |"
            assert fields in pages.entries[one.id].emulation, one.id
