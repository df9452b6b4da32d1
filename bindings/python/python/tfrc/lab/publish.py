"""The pages of the repository: `docs/results.md`, `docs/peers.md`, and the verdict in the README of
each experiment, between marks, with its picture, and `docs/gallery.md`, where the pictures are.

A line depends on one experiment alone. Results therefore renew a page in part: lines of experiments
that were not run stay as they were, and READMEs and tallies are made from the pages.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

import numpy as np

from . import emulated, figure, text
from .store import Store
from .experiment import BadExperiment, Experiment
from .judge import not_run, of_counts
from .text import AGREES_WITH_PRINT, VERDICTS, number, over, plain
from .verdict import of_both

# The lines of a README between which the verdict stands.
MARKS = ("<!-- tfrc-lab publish -->", "<!-- end -->")
# The part of docs/peers.md that is written by hand.
BY_HAND = "\n## Suites of other projects\n"
# The picture of an experiment, and the most bytes of one.
PICTURE, MOST_BYTES = "picture.svg", 105_000
WRAP: dict[str, Any] = {"width": 100, "break_on_hyphens": False, "break_long_words": False}
# Experiments that a check runs again, and the most million packet hops of one.
SAMPLED, MOST_HOPS = 3, 40.0

HEAD = """\
# Results

Written by `tfrc-lab publish` from the runs of `experiments/`. The words are defined in
`experiments.md`. A star marks experiments that must agree with the print or with ns-2. The figures
are in the [gallery](gallery.md).
"""
FINDINGS = """
## Findings

Experiments that do not agree with the print or with a recording, by verdict. The page of each
experiment gives the cause, with the run that shows it, or says that none was found.
"""
GALLERY = """\
# Gallery

Written by `tfrc-lab publish`: the figures of the experiments, ours over the print. A dot is our
mean with its 95 % interval, a square the print, a cross ns-2.
"""
BEFORE = """
## Experiments of the engine before

The commit that is named changed what runs give. The experiments below it were not run again since:
their findings, lines and part of the tally are of before. `tfrc-lab run ID --out DIR` and
`tfrc-lab publish DIR/results.json` renew them.
"""
TABLES = {
    "Verdicts": (
        "| print, ns-2 | the verdict against the published values and claims, and against ns-2.35; `-` where there is "
        "nothing to compare |\n| verdict | both in one word, and whether printed values were compared, claims alone, or "
        "a recording of ours |\n| claims | how many hold |\n",
        "| experiment | | print | ns-2 | verdict | claims |\n| --- | --- | --- | --- | --- | --- |\n",
    ),
    "Cells and costs": (
        "| with print, with ns-2 | informative cells that agree, of those compared |\n"
        "| ratio | the median of measured over reference, with the reference |\n"
        "| farthest cell | the cell that is farthest from its nearer reference, in widths of the band, with its "
        "ratio |\n| seeds | the most that a point took |\n"
        "| 10⁶ hops | packet hops of the runs as published: what the experiment costs |\n",
        "| experiment | with print | with ns-2 | ratio | farthest cell | seeds | 10⁶ hops |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n",
    ),
    "Emulation": (
        "| fidelity | the worst of the valid runs |\n"
        "| over simulation | the median of emulated over simulated, of the cells with both |\n"
        "| without value | cells without a valid run |\n"
        "| claims | how many of the simulated side's hold in emulation too |\n",
        "| experiment | recorded | fidelity | over simulation | without value | claims |\n"
        "| --- | --- | --- | --- | --- | --- |\n",
    ),
}
EMULATED = """\
Real time, real datagrams and the kernel's TCP, recorded with `tfrc-lab record` in `emulated.csv` of
each experiment, which has the values.

"""
PEERS = """\
# Comparison with ns-2

Debian's ns-2 (2.35+dfsg-5) and this simulator on one set of scenarios, written by `tfrc-lab publish`.
ns-2 runs the scripts of `experiments/ns2/scripts/`; the values of its runs are `experiments/ns2/*/ns2.csv`
(`tfrc-lab reference` makes them). The flows run with the habits of ns-2 (`revision = "ns2"`,
`settings = "ns2"`): the simulator is compared, not the RFCs.

A cell **agrees** when the 99 % interval of the difference between the means over the seeds lies
within 10 % of ns-2's mean; ± is half the width of that interval. It **disagrees** when it does not
agree, the means differ by more than 5 %, and Welch's test at 99 %, corrected over the table after
Holm, finds a difference; the cause stands below the table. All other cells are **undetermined**. Runs
without randomness are compared as counts that grow with time, which agree within a factor of 1.05.

| experiment | | cells | agree | disagree | undetermined |
|---|---|---:|---:|---:|---:|
"""


@dataclass
class Entry:
    """The part of results.md that an experiment has: an item of the findings, lines of three tables,
    and the commit since which it should be run again."""

    finding: str = ""
    verdict: str = ""
    cells: str = ""
    emulation: str = ""
    before: str = ""

    @property
    def word(self) -> str:
        return _fields(self.verdict)[4].split(":")[0] if self.verdict else "not-run"


@dataclass
class Peer:
    """The part of peers.md that an experiment has: a line of the table, and a section."""

    line: str = ""
    part: str = ""


@dataclass
class Pages:
    """The pages of a checkout, taken apart by experiment."""

    experiments: Sequence[Experiment]
    entries: dict[str, Entry]
    peers: dict[str, Peer]
    by_hand: str
    docs: Path

    @classmethod
    def read(cls, experiments: Sequence[Experiment], docs: Path) -> Pages:
        """Takes apart the pages that are there."""
        page, _, by_hand = _text(docs / "peers.md").partition(BY_HAND)
        entries, peers = _entries(experiments, _text(docs / "results.md")), _peers(experiments, page)
        return cls(experiments, entries, peers, BY_HAND + by_hand if by_hand else "", docs)

    def renew(self, results: Iterable[dict[str, Any]], changed_by: Optional[str] = None) -> None:
        """Takes new results. With a commit that changed what runs give, the experiments that are
        not among them are marked as of before it."""
        known, renewed = {one.id: one for one in self.experiments}, set()
        for result in results:
            experiment = known.get(result["id"])
            if experiment is None:
                raise BadExperiment(f"there are results of {result['id']}, and no such experiment")
            renewed.add(experiment.id)
            if is_beside_ns2(experiment):
                self.peers[experiment.id] = peer(experiment, result)
            else:
                self.entries[experiment.id] = entry(experiment, result)
        for id, left in self.entries.items() if changed_by else ():
            left.before = left.before or ("" if id in renewed else changed_by or "")

    def files(self) -> Iterator[tuple[Path, str]]:
        """The files of the pages and the READMEs, with their texts."""
        yield self.docs / "results.md", self._results()
        yield self.docs / "peers.md", self._peers()
        yield self.docs / "gallery.md", self._gallery()
        for experiment in self.experiments:
            readme = experiment.folder / "README.md"
            if readme.exists() and (experiment.id in self.entries or experiment.id in self.peers):
                image = f"{_image(experiment)}\n\n" if (experiment.folder / PICTURE).exists() else ""
                yield readme, _marked(_text(readme), self._sentence(experiment.id), image)

    def _sentence(self, id: str) -> str:
        """The verdict of an experiment as the pages have it."""
        if id in self.peers:
            counts = [int(field) for field in _fields(self.peers[id].line)[2:]] or [0] * 4
            cells = dict(zip(("agree", "disagree", "undetermined"), counts[1:]))
            word = of_counts(cells, {"held": 0, "of": 0})
            return text.verdict(of_both(None, word) or "not-run", {"ns2": word}, {"ns2": (counts[1], counts[0])})
        verdict, cells_ = _fields(self.entries[id].verdict), _fields(self.entries[id].cells)
        if self.entries[id].word == "not-run":
            return f"Not run: {(verdict[4:5] or [': never'])[0].partition(': ')[2]}."
        counts_ = {"print": _fraction(cells_[1]), "ns2": _fraction(cells_[2]), "claims": _fraction(verdict[5])}
        words = {name: None if word == "-" else word for name, word in zip(("print", "ns2"), verdict[2:4])}
        if words == {"print": None, "ns2": None}:
            words["recording"] = verdict[4].partition("-")[0]
        return text.verdict(verdict[4], words, counts_)

    def _results(self) -> str:
        all_ = self.entries.values()
        page = HEAD + self._screen() + FINDINGS
        for word in ("disagrees", "agrees-with-ns2", "undetermined", "not-run"):
            items = [one.finding for one in all_ if one.word == word and one.finding]
            page += f"\n### {word}\n\n" + "".join(items) if items else ""
        page += f"\n## Tally\n\n{self._tally()}"
        page += _table("Verdicts", (one.verdict for one in all_))
        commits = sorted({one.before for one in all_ if one.before})
        page += BEFORE if commits else ""
        for commit in commits:
            ids = "".join(f"* `{id}`\n" for id, one in self.entries.items() if one.before == commit)
            page += f"\nBefore `{commit}`:\n\n{ids}"
        page += _table("Cells and costs", (one.cells for one in all_))
        if any(one.emulation for one in all_):
            page += _table("Emulation", (one.emulation for one in all_), EMULATED)
        return page

    def _screen(self) -> str:
        """The papers in one screen: results that hold, that do not, and that cannot be known."""
        said: dict[str, list[str]] = {"holds": [], "fails": [], "unknown": []}
        for paper, some in itertools.groupby(self.experiments, lambda one: one.folder.parent.name):
            all_ = list(some)
            words = [self.entries[one.id].word for one in all_ if one.id in self.entries]
            counts = f"{sum(word.startswith('agrees') for word in words)} of {len(words)}"
            name = f"[{plain(paper)}](../experiments/{paper}/README.md)"
            for kind, items in said.items():
                texts = dict.fromkeys(str(getattr(one.paper, kind)) for one in all_ if getattr(one.paper, kind))
                items += [_item(f"{name}{f' ({counts})' if kind == 'holds' else ''}: {one}") for one in texts]
        heads = {"holds": "What holds (experiments that agree, of all)", "fails": "What does not"}
        heads["unknown"] = "What cannot be known"
        return "".join(f"\n## {heads[kind]}\n\n{''.join(items)}" for kind, items in said.items() if items)

    def _gallery(self) -> str:
        page = GALLERY
        drawn = [one for one in self.experiments if (one.folder / PICTURE).exists()]
        for folder, some in itertools.groupby(drawn, lambda one: one.folder.parent):
            page += f"\n## {_text(folder / 'README.md').partition(chr(10))[0].removeprefix('# ') or folder.name}\n"
            for one in some:
                link = f"../experiments/{one.id}"
                page += f"\n### {plain(one.title)}\n\n{_image(one, f'{link}/')}\n\n"
                page += textwrap.fill(f"[{one.id}]({link}/README.md): {self._sentence(one.id)}", **WRAP) + "\n"
        return page

    def _tally(self) -> str:
        lines = ["| paper | print | ns-2 | " + " | ".join(VERDICTS) + " |", "| --- " * (3 + len(VERDICTS)) + "|"]
        papers = itertools.groupby(self.entries.items(), lambda one: one[0].partition("/")[0])
        groups = [(paper, [entry for _, entry in some]) for paper, some in papers]
        for name, some in [*groups, ("all", list(self.entries.values()))]:
            fields = [_fields(one.verdict) for one in some if one.verdict]
            against = [[field[at] for field in fields if field[at] != "-"] for at in (2, 3)]
            shares = [f"{words.count('agrees')}/{len(words)}" for words in against]
            counts = [str(sum(one.word == word for one in some)) for word in VERDICTS]
            lines.append(f"| {' | '.join([plain(name), *shares, *counts])} |")
        about = (
            "`print` and `ns-2`: experiments that agree with it, of those that are compared with it. Those that agree "
            "with the print do so with printed values, or with claims alone, of whose figures no value was compared; "
            "and some have no print, only recordings by this project."
        )
        return "\n".join([*lines, "", textwrap.fill(about, **WRAP), ""])

    def _peers(self) -> str:
        titles = {one.id: one.title for one in self.experiments}
        parts = "".join(f"\n## {titles[id]}\n{one.part}" for id, one in self.peers.items() if one.part)
        return PEERS + "".join(one.line for one in self.peers.values()) + parts + self.by_hand


def is_beside_ns2(experiment: Experiment) -> bool:
    """True of an experiment that has no reference but ns-2."""
    return not experiment.published.columns and not experiment.claims


def sample(pages: Pages, seed: str) -> list[str]:
    """A few experiments that end soon and are not of an engine before, chosen by a text."""
    small = [
        id
        for id, one in pages.entries.items()
        if one.cells and not one.before and float(_fields(one.cells)[6]) <= MOST_HOPS and one.word != "not-run"
    ]
    return sorted(sorted(small, key=lambda id: hashlib.sha256(f"{seed}{id}".encode()).digest())[:SAMPLED])


def differences(pages: Pages, results: Iterable[dict[str, Any]]) -> list[str]:
    """The lines of the page that results contradict, with those that they give."""
    known, found = {one.id: one for one in pages.experiments}, []
    for result in results:
        was, now = pages.entries[result["id"]], entry(known[result["id"]], result)
        pairs = ((was.verdict, now.verdict), (was.cells, now.cells))
        found += [f"docs/results.md: {old.strip()}\nnow:             {new.strip()}" for old, new in pairs if old != new]
    return found


def pictures(
    experiments: Sequence[Experiment], results: Iterable[dict[str, Any]], store: Optional[Store] = None
) -> Iterator[tuple[Path, str]]:
    """The figures of experiments, each next to its README. Those beside ns-2 are in peers.md as tables,
    those without a print have one if they name its panels, and a map of hours if one is there."""
    found = {result["id"]: result for result in results}
    for experiment in experiments:
        path = experiment.folder / PICTURE
        if experiment.id not in found or is_beside_ns2(experiment) or (experiment.long and not path.exists()):
            continue
        has_print = any(cell["published"] is not None for cell in found[experiment.id]["cells"])
        if not (has_print or experiment.drawing):
            continue
        drawn = figure.of(experiment, found[experiment.id], store)
        if drawn is None:
            continue
        picture = figure.svg(drawn)
        if len(picture.encode()) > MOST_BYTES:
            size = f"{len(picture.encode())} bytes, more than {MOST_BYTES}"
            about = f"no picture of {experiment.id}, which has {size}: give the experiment fewer panels"
            print(about, file=sys.stderr)
            continue
        yield path, picture


def _entries(experiments: Sequence[Experiment], page: str) -> dict[str, Entry]:
    """The entries of results.md, by experiment. Titles are those that the experiments have now."""
    parts = _parts(page, "## ")
    found: dict[str, Entry] = defaultdict(Entry)
    found.update({one.id: Entry() for one in experiments if not (is_beside_ns2(one) or one.long)})
    for item in re.findall(r"^\* \[.*(?:\n  .*)*\n", parts.get("Findings", ""), re.M):
        found[_name(item)].finding = item
    for name, key in (("Verdicts", "verdict"), ("Cells and costs", "cells"), ("Emulation", "emulation")):
        for line in re.findall(r"^\| \[.*\n", parts.get(name, ""), re.M):
            setattr(found[_name(line)], key, line)
    for commit, ids in re.findall(r"^Before `(\w+)`:\n((?:\n|\* .*\n)+)", page, re.M):
        for id in re.findall(r"`(.+)`", ids):
            found[id].before = commit
    for experiment in experiments:
        if (one := found.get(experiment.id)) is None:
            continue
        if not one.verdict:
            found[experiment.id] = entry(experiment, not_run(experiment, "never"))
            continue
        old, new = _fields(one.verdict)[1], plain(experiment.title)
        if old != new:
            one.verdict = one.verdict.replace(f"| {old} |", f"| {new} |", 1)
            one.finding = one.finding and _item(" ".join(one.finding[2:].split()).replace(f"({old})", f"({new})", 1))
    known = {one.id for one in experiments}
    return {id: one for id, one in sorted(found.items()) if id in known}


def _peers(experiments: Sequence[Experiment], page: str) -> dict[str, Peer]:
    """The entries of peers.md, by experiment."""
    lines = {_fields(line)[0]: line for line in page.splitlines() if line.startswith("|")}
    parts, found = _parts(page, "## "), {}
    for one in experiments:
        if is_beside_ns2(one):
            found[one.id] = Peer()
            if one.id in lines:
                id, old, *counts = _fields(lines[one.id])
                found[one.id] = Peer(_line(id, one.title, *counts), f"{parts.get(old, '').rstrip()}\n")
    return found


def entry(experiment: Experiment, e: Mapping[str, Any]) -> Entry:
    """The part of results.md that these results make."""
    name = f"[{e['id']}](../experiments/{e['id']}/README.md)" + (" *" if e["must_agree"] else "")
    title, tally, found = plain(e["title"]), e["tally"], Entry()
    if e["verdict"] not in AGREES_WITH_PRINT:
        found.finding = _item(f"{name} ({title}): {plain(e['reason'])}.")
    verdict = f"not-run: {e['reason']}" if e["verdict"] == "not-run" else e["verdict"]
    words = [e["verdict_print"] or "-", e["verdict_ns2"] or "-", verdict]
    found.verdict = _line(name, title, *words, _share(tally["claims_held"], tally["claims"]))
    if e["verdict"] != "not-run":
        more = f" ({tally['uninformative']} uninformative)" if tally["uninformative"] else ""
        shares = [_share(tally[key]["agree"], sum(tally[key].values())) for key in ("print", "ns2")]
        ratio = "" if tally["median_ratio"] is None else over(tally["median_ratio"], tally["median_ratio_over"])
        costs = (str(e["runs"]), number(e["packet_hops"] / 1e6))
        found.cells = _line(name, shares[0] + more, shares[1], ratio, _farthest(e["cells"]), *costs)
    if experiment.emulated is not None:
        found.emulation = _emulation(experiment, e, name)
    return found


def _farthest(cells: Sequence[Mapping[str, Any]]) -> str:
    counted = [one for one in cells if one["verdict"] not in (None, "uninformative") and one["distance"]]
    if not counted:
        return ""
    worst = max(reversed(counted), key=lambda one: float(one["distance"]))
    by = "" if worst["ratio"] is None else f": {over(worst['ratio'], worst['ratio_over'])}"
    return f"{plain(worst['row'])} {plain(worst['column'])}{by}"


def _emulation(experiment: Experiment, e: Mapping[str, Any], name: str) -> str:
    """The line of the emulated side."""
    assert experiment.emulated is not None
    cells = [one for one in e["cells"] if one.get("emulated_runs") is not None]
    both = [one for one in cells if one["measured"] and one["emulated"] is not None]
    ratios = [one["emulated"] / one["measured"] for one in both if not one["note"] and not one["emulated_note"]]
    claims = [one["holds_in_emulation"] for one in e["claims"] if one["holds_in_emulation"] is not None]
    return _line(
        name, plain(experiment.emulated.words), plain(emulated.worst(experiment.emulated)),
        number(float(np.median(ratios))) if ratios else "", str(sum(one["emulated_runs"] == 0 for one in cells)),
        _share(sum(claims), len(claims)),
    )  # fmt: skip


def peer(experiment: Experiment, e: Mapping[str, Any]) -> Peer:
    """The part of peers.md that these results make."""
    count = e["tally"]["ns2"]
    line = _line(e["id"], e["title"], *map(str, (sum(count.values()), *count.values())))
    readme = _parts(_text(experiment.folder / "README.md"), "## ")
    set_up = " ".join(readme.get("Set-up", "").strip().split("\n\n")[0].split())
    part = f"\n{set_up}\n\n{e['runs']} seeds. Again: `tfrc-lab run {e['id']}`\n\n"
    if any(one.get("difference") is not None for one in e["cells"]):
        part += "| row | column | ns-2 | here | ratio | ± % | verdict |\n|---|---|---:|---:|---:|---:|---|\n"
        part += "".join(_compared(one, one["column"]) for one in e["cells"])
    else:
        part += "| row | agree | farthest | ns-2 | here | ratio | verdict |\n|---|---:|---|---:|---:|---:|---|\n"
        for _, some in itertools.groupby(e["cells"], lambda one: one["row"]):
            cells = list(some)
            worst = max(reversed(cells), key=lambda one: float(one["distance"] or 0.0))
            agree = sum(one["verdict_ns2"] == "agrees" for one in cells)
            part += _compared(worst, f"{agree}/{len(cells)}", worst["column"])
    causes = readme.get("Why it differs", "").strip()
    return Peer(line, part + (f"\n**Why it differs.** {causes}\n" if causes else ""))


def _compared(cell: Mapping[str, Any], *columns: str) -> str:
    ratio = "" if cell["ratio"] is None else f"{cell['ratio']:.3f}"
    width = [f"{cell['difference'] * 100:.1f}"] if cell.get("difference") is not None else []
    values = (number(cell["ns2"]), number(cell["measured"]), ratio)
    return _line(cell["row"], *columns, *values, *width, cell["verdict_ns2"] or "")


def _image(experiment: Experiment, folder: str = "") -> str:
    title = re.sub(r"[\[\]]", "", plain(experiment.title))
    return textwrap.fill(f"![{title}]({folder}{PICTURE})", **WRAP)


def _marked(readme: str, sentence: str, image: str = "") -> str:
    """A README with the picture and the verdict between its marks; below its title if it has none
    yet."""
    block = f"{MARKS[0]}\n{image}{textwrap.fill(f'**Verdict.** {sentence}', 100, break_on_hyphens=False)}\n{MARKS[1]}"
    begin, end = readme.find(MARKS[0]), readme.find(MARKS[1])
    if 0 <= begin < end:
        return readme[:begin] + block + readme[end + len(MARKS[1]) :]
    title, _, rest = readme.partition("\n")
    return f"{title}\n\n{block}\n{rest}"


def _table(name: str, lines: Iterable[str], about: str = "") -> str:
    meanings, heads = TABLES[name]
    return f"\n## {name}\n\n{about}| column | meaning |\n| --- | --- |\n{meanings}\n{heads}{''.join(lines)}"


def _line(*fields: str) -> str:
    return f"| {' | '.join(fields)} |\n"


def _fields(line: str) -> list[str]:
    """The fields of a line of a table; a bar within a field has a backslash."""
    return [field.strip() for field in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _fraction(field: str) -> tuple[int, int]:
    found = re.match(r"(\d+)/(\d+)", field)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _share(some: int, of: int) -> str:
    return f"{some}/{of}" if of else ""


def _item(words: str) -> str:
    """An item of a list, wrapped."""
    return textwrap.fill(" ".join(words.split()), initial_indent="* ", subsequent_indent="  ", **WRAP) + "\n"


def _name(line: str) -> str:
    """The experiment that a line or an item links first."""
    return line.partition("[")[2].partition("]")[0]


def _parts(page: str, mark: str) -> dict[str, str]:
    """The parts of a page by their headings, of the kind that begins with `mark`."""
    parts = re.split(rf"^{mark}(.*)\n", page, flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2]))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""

