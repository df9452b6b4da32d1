"""Pages of results: one for each experiment, figure first, and an index with the figures."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from . import figure, text
from .experiment import Experiment
from .store import Store

STYLE = """
:root { color-scheme: light dark; font: 16px/1.45 system-ui, sans-serif; }
body { max-width: 75rem; margin: 0 auto; padding: 1rem; }
.wide { overflow-x: auto; } svg, .figure img { max-width: 100%; height: auto; }
.figure { background: #fff; padding: .4rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid #8886; white-space: nowrap; }
td:nth-child(-n+3), th:nth-child(-n+3) { text-align: left; }
.disagrees { color: #c22; } .agrees-with-print, .agrees-with-ns2 { color: #287a28; }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); gap: 1rem; }
"""


def write(experiments: Sequence[Experiment], results: dict[str, Any], folder: Path, store: Optional[Store] = None) -> None:
    """Writes `index.html`, a page and a figure for each experiment, and `results.json`."""
    import json

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    entries = []
    for experiment, result in zip(experiments, results["experiments"]):
        name = experiment.id.replace("/", "-")
        drawn = figure.of(experiment, result, store)
        if drawn is not None:
            (folder / f"{name}.svg").write_text(figure.svg(drawn), encoding="utf-8")
        image = f'<div class="figure"><img src="{name}.svg" alt="{_text(experiment.title)}"></div>' if drawn else ""
        (folder / f"{name}.html").write_text(_page(experiment, result, image), encoding="utf-8")
        about = f'<a href="{name}.html">{_text(experiment.id)}</a>: {_text(experiment.title)}'
        entries.append(f'<section><p>{about}</p>{image}<p class="{result["verdict"]}">{_sentence(result)}</p></section>')
    body = f'<h1>Experiments</h1><div class="gallery">{"".join(entries)}</div>'
    (folder / "index.html").write_text(_frame("Experiments", body), encoding="utf-8")


def _page(experiment: Experiment, result: dict[str, Any], image: str) -> str:
    parts = [f"<p><a href='index.html'>Experiments</a></p><h1>{_text(experiment.title)}</h1>", image]
    parts.append(f'<p class="{result["verdict"]}"><strong>{_sentence(result)}</strong></p>')
    parts.append(f"<p>{_text(experiment.id)}, {_text(experiment.source)}. At most {result['runs']} seeds.</p>")
    if result["claims"]:
        parts.append("<ul>" + "".join(f"<li>{_text(text.claim(one))}</li>" for one in result["claims"]) + "</ul>")
    heads, rows = text.cells(result)
    if rows:
        parts.append(_table(heads, rows))
    for variant in result["variants"]:
        parts.append(f"<h2>{_text(variant['name'])}</h2><p>{_text(variant['about'])}; {variant['runs']} runs.</p>")
        parts.append(_table(*text.variant(variant)))
    return _frame(experiment.title, "".join(parts))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(one)}</th>" for one in heads)
    lines = "".join("<tr>" + "".join(f"<td>{_text(one)}</td>" for one in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'


def _frame(title: str, body: str) -> str:
    viewport = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f"<meta charset='utf-8'>{viewport}<title>{_text(title)}</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{body}</body></html>\n"


def _sentence(result: dict[str, Any]) -> str:
    return _text(text.sentence(result))


def _text(words: str) -> str:
    return html.escape(words, quote=True)
