"""Pages of results: one for each experiment, figure first, and an index with the figures."""

from __future__ import annotations

import html
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Optional

from . import emulated, figure, library, text
from .experiment import Experiment
from .publish import MARKS
from .store import Store

# The first column of a table, the verdict, stays in view when the table is moved sideways.
STYLE = """
:root { color-scheme: light dark; font: 16px/1.45 system-ui, sans-serif; }
body { max-width: 75rem; margin: 0 auto; padding: 1rem; }
.wide { overflow-x: auto; margin: 1rem 0; } .figure img { max-width: 100%; height: auto; display: block; }
.figure { background: #fff; padding: .4rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
td, th { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid #8886; white-space: nowrap; }
.text td:nth-child(-n+3), .text th:nth-child(-n+3), .prose td, .prose th { text-align: left; }
td:first-child, th:first-child { padding-left: 0; }
.text td:first-child, .text th:first-child { position: sticky; left: 0; background: Canvas; }
.text.claims td:nth-child(3), .text.claims th:nth-child(3) { text-align: right; }
.claims td:nth-child(2) { white-space: normal; min-width: 14rem; max-width: 34rem; }
.prose { max-width: 50rem; } .prose table { margin: 1rem 0; } .prose td { white-space: normal; vertical-align: top; }
pre { overflow-x: auto; font-size: .85rem; } .hint { color: GrayText; font-size: .9rem; }
.disagrees, .fails { color: light-dark(#b01, #f78); }
[class^="agrees-with"], .holds { color: light-dark(#171, #8d8); }
.undetermined { color: light-dark(#850, #eb6); }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); gap: 1.5rem; }
.gallery a { color: inherit; text-decoration: none; } .gallery p { margin: .3rem 0; }
.gallery .figure { max-height: 16rem; overflow: hidden; }
"""
WORDS = {
    "agrees-with-print": "✓ agrees with print", "agrees-with-values": "✓ agrees with printed values",
    "agrees-with-claims": "✓ agrees with claims alone", "agrees-with-recording": "✓ agrees with our recordings",
    "agrees-with-ns2": "≈ agrees with ns-2",
    "disagrees": "✗ disagrees", "undetermined": "? undetermined", "uninformative": "· says nothing", "not-run": "– not run", "-": "",
}  # fmt: skip
HOLDS = {True: ("holds", "✓ holds"), False: ("fails", "✗ fails"), None: ("undetermined", "? open")}


def write(
    experiments: Sequence[Experiment], results: dict[str, Any], folder: Path, store: Optional[Store] = None
) -> None:
    """Writes `index.html` and `results.json`, and of each experiment a page, a figure and its cells
    as CSV."""
    from pandas import DataFrame

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    about = f"Code version {results['code_version']}"
    about += ", quick form: too few runs for verdicts" if results["quick"] else ""
    drawn = []
    for experiment, result in zip(experiments, results["experiments"]):
        name = experiment.id.replace("/", "-")
        drawing = figure.of(experiment, result, store)
        if drawing is not None:
            (folder / f"{name}.svg").write_text(figure.svg(drawing), encoding="utf-8")
        image = f'<div class="figure"><img src="{name}.svg" alt="{_text(experiment.title)}"></div>'
        drawn.append(image if drawing else "")
        (folder / f"{name}.html").write_text(_page(experiment, result, drawn[-1], about), encoding="utf-8")
        DataFrame(result["cells"]).to_csv(folder / f"{name}.csv", index=False)
    (folder / "index.html").write_text(_index(experiments, results["experiments"], drawn, about), encoding="utf-8")


def _index(
    experiments: Sequence[Experiment], results: Sequence[dict[str, Any]], drawn: Sequence[str], about: str
) -> str:
    """The figures of each paper, then the claims of the prints that do not hold."""
    count = Counter(one["verdict"] for one in results)
    tally = ", ".join(f"{count[word]} {word}" for word in text.VERDICTS if count[word])
    parts = [f"<h1>Experiments</h1><p>{len(results)} experiments: {tally}. {about}.</p>"]
    all_ = sorted(zip(experiments, results, drawn), key=lambda one: one[0].id)
    for paper, some in itertools.groupby(all_, lambda one: one[0].folder.parent):
        cards = []
        for experiment, result, image in some:
            head = f'<p><b>{_text(experiment.id)}</b> {_text(experiment.title)}</p>{image}{_verdict(result)}'
            cards.append(f'<section><a href="{experiment.id.replace("/", "-")}.html">{head}</a></section>')
        parts.append(f'<h2>{_text(_title(paper))}</h2><div class="gallery">{"".join(cards)}</div>')
    failing = [
        (result["id"], claim)
        for result in results
        for claim in result["claims"]
        if claim["holds"] is False and claim["holds_in_source"] is not False
    ]
    if failing:
        table = _claims([claim for _, claim in failing], [id for id, _ in failing])
        parts.append(f"<h2>Claims of the print that do not hold</h2>{table}")
    return _frame("Experiments", "".join(parts))


def _page(experiment: Experiment, result: dict[str, Any], image: str, about: str) -> str:
    name, alias = experiment.id.replace("/", "-"), library.conference(experiment.source)
    parts = [f"<p><a href='index.html'>Experiments</a></p><h1>{_text(experiment.title)}</h1>{image}", _verdict(result)]
    names = experiment.id + (f" = {alias}" if alias else "")
    more = f"{_text(names)}, {_text(experiment.source)}. {about}. At most {result['runs']} seeds."
    files = {f"{name}.svg": "Figure", f"{name}.csv": "values", "results.json": "all results"}
    links = ", ".join(f'<a href="{file}">{word}</a>' for file, word in files.items())
    parts.append(f'<p class="hint">{more} {links}.</p>')
    if experiment.emulated is not None:
        words = f"Emulated on {experiment.emulated.words}: {emulated.worst(experiment.emulated)}."
        parts.append(f'<p class="hint">{_text(words)}</p>')
    parts.append(_claims(sorted(result["claims"], key=lambda one: one["holds"] is not False)))
    parts.append(_cells(result))
    for variant in result["variants"]:
        parts.append(f"<h2>{_text(variant['name'])}</h2><p>{_text(variant['about'])}; {variant['runs']} runs.</p>")
        parts.append(_table(*text.variant(variant), kind="text"))
    parts += [_readme(experiment.folder), f"<h2>Again</h2><pre>tfrc-lab run {experiment.id}</pre>"]
    for path in [experiment.folder / library.FILE, *experiment.scenarios]:
        parts.append(f"<details><summary>{path.name}</summary><pre>{_text(path.read_text('utf-8'))}</pre></details>")
    if notes := [" ".join(table.notes) for table in (experiment.published, experiment.ns2) if table and table.notes]:
        parts.append(f"<h2>Where the values are from</h2>{''.join(f'<p>{_text(note)}</p>' for note in notes)}")
    return _frame(experiment.title, "".join(parts))


def _verdict(result: dict[str, Any]) -> str:
    return f'<p class="{result["verdict"]}"><strong>{_text(text.sentence(result))}</strong></p>'


def _claims(claims: Sequence[dict[str, Any]], of: Sequence[str] = ()) -> str:
    heads = ["verdict", "claim", "here", "wanted", "print", "ns-2", "emulated"]
    rows, classes = [], []
    for place, one in enumerate(claims):
        kind, word = HOLDS[one["holds"]]
        more = "".join(f" ({part})" for part in (one["evidence"], one["undecidable"]) if part)
        wanted = " … ".join(text.number(bound) for bound in one["between"])
        values = [one[key] for key in ("value", "value_in_source", "value_in_ns2", "value_in_emulation")]
        here, *others = map(text.number, values)
        rows.append([word, (f"{of[place]}: " if of else "") + one["text"] + more, here, wanted, *others])
        classes.append(kind)
    return _table(heads, rows, classes, "text claims") if rows else ""


def _cells(result: dict[str, Any]) -> str:
    """The table of the cells, and below it why some have no verdict."""
    heads, rows = text.cells(result)
    classes = [row[0] for row in rows]
    notes = Counter((cell["verdict"], cell["note"]) for cell in result["cells"] if cell["note"])
    notes.update(("emulated", cell["emulated_note"]) for cell in result["cells"] if cell.get("emulated_note"))
    about = "; ".join(f"{count} {word}: {note}" for (word, note), count in notes.items())
    table = _table(heads, [[WORDS[row[0]], *row[1:]] for row in rows], classes, "text") if rows else ""
    return table + (f'<p class="hint">{_text(about)}.</p>' if about else "")


def _table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], classes: Optional[Sequence[str]] = None, kind: str = ""
) -> str:
    head = "".join(f"<th>{_text(one)}</th>" for one in heads)
    lines = ""
    for place, row in enumerate(rows):
        first = f'<td class="{classes[place]}">' if classes else "<td>"
        lines += f"<tr>{first}" + "<td>".join(f"{_text(one)}</td>" for one in row) + "</tr>"
    return f'<div class="wide"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'


def _readme(folder: Path) -> str:
    """The README below its title, without the verdict and without links into the repository."""
    from markdown_it import MarkdownIt

    path = folder / "README.md"
    if not path.exists():
        return ""
    words = re.sub(f"{MARKS[0]}.*?{MARKS[1]}\n*", "", path.read_text(encoding="utf-8"), flags=re.S)
    words = words.partition("\n")[2].split("\n## Command\n")[0]
    shown = str(MarkdownIt("commonmark", {"html": False}).enable("table").render(words))
    shown = re.sub(r'<img [^>]*>|<a href="(?!https?:)[^"]*">(.*?)</a>', r"\1", shown, flags=re.S)
    return f'<div class="prose">{shown}</div>'


def _title(paper: Path) -> str:
    path = paper / "README.md"
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") if path.exists() else paper.name


def _frame(title: str, body: str) -> str:
    viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f"<meta charset='utf-8'>{viewport}<title>{_text(title)}</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{body}</body></html>\n"


def _text(words: str) -> str:
    return html.escape(words, quote=True)
