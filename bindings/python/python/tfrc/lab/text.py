"""Results as text: a table for terminals, Markdown for pages."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

MARKS = {"agrees": "✓", "disagrees": "✗", "undetermined": "?", "uninformative": "·"}
# What an experiment that agrees with its print was compared with: printed values; claims alone; or, where nothing
# is printed, recordings of this project.
AGREES_WITH_PRINT = ("agrees-with-values", "agrees-with-claims", "agrees-with-recording")
VERDICTS = (*AGREES_WITH_PRINT, "agrees-with-ns2", "undetermined", "disagrees", "not-run")


def number(x: Optional[float]) -> str:
    """A number in four significant digits; `-` for none."""
    if x is None:
        return "-"
    if math.isinf(x):
        return str(x)
    magnitude = math.floor(math.log10(abs(x))) if x else 0
    if not -4 <= magnitude <= 9:
        return re.sub(r"e([+-])0?", lambda found: "e" + found[1].strip("+"), f"{x:.3e}")
    return f"{x:.{max(3 - magnitude, 0)}f}" if x else "0"


def over(ratio: Optional[float], of: Optional[str]) -> str:
    """A ratio with its denominator."""
    return number(ratio) + {"print": " over print", "ns2": " over ns-2", None: ""}[of]


def plain(words: str) -> str:
    """Words in a field of a table of Markdown."""
    return words.replace("|", "\\|").replace("\n", " ").replace("_", "\\_")


def sentence(result: dict[str, Any]) -> str:
    """The verdict on an experiment in one true sentence."""
    if result["verdict"] == "not-run":
        return f"Not run: {result['reason']}."
    tally = result["tally"]
    counts = {key: (tally[key]["agree"], sum(tally[key].values())) for key in ("print", "ns2")}
    counts["claims"] = (tally["claims_held"], tally["claims"])
    words = {key: result[f"verdict_{key}"] for key in ("print", "recording", "ns2")}
    return verdict(result["verdict"], words, counts)


def verdict(
    word: str, of: Mapping[str, Optional[str]], counts: Mapping[str, tuple[int, int]], enough: float = 0.9
) -> str:
    """A sentence of the verdicts on `print`, `recording` and `ns2` and of the counts: values that
    agree with each, and `claims` that hold, of all. The reference that decides stands first, with
    what of the print was compared."""
    names = {"print": "the print", "recording": "our own recordings", "ns2": "ns-2"}
    compared = "the printed values" if counts.get("print", (0, 0))[1] else "the claims of the print alone"
    verbs = {"agrees": "agrees with", "disagrees": "disagrees with", "undetermined": "is open against"}
    parts = {}
    for key, name in names.items():
        if of.get(key) is not None:
            parts[key] = f"{verbs[str(of[key])]} {compared if key == 'print' else name}"
    some, all_ = counts.get("print", (0, 0))
    if of.get("print") == "disagrees" and some >= enough * all_:
        parts["print"] = "does not bear out every claim of the print"
    elif of.get("print") == "agrees" and word not in AGREES_WITH_PRINT:
        parts["print"] += " as far as that goes"
    elif {"print", "ns2"} <= {*parts} and of["print"] == of["ns2"]:
        parts["print"] += f", and {verbs[str(of['ns2'])].split()[-1]} ns-2"
        del parts["ns2"]
    order = sorted(parts, key=lambda key: key != "ns2", reverse=word != "agrees-with-ns2")
    said = [f"{_share(*counts[key])} values agree with {names[key]}" for key in names if counts.get(key, (0, 0))[1]]
    if len(said) == 2:
        said[1] = said[1].replace("values agree ", "")
    if counts.get("claims", (0, 0))[1]:
        said.append(f"{_share(*counts['claims'])} claims hold")
    begin = "; ".join(parts[key] for key in order) or "is open"
    return f"{begin[0].upper()}{begin[1:]}{': ' if said else ''}{', '.join(said)}."


def _share(some: int, of: int) -> str:
    if some < of or of < 2:
        return f"{some} of {of}"
    return "both" if of == 2 else f"all {of}"


def cells(result: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the table of cells; the verdict stands first, in view on a narrow
    screen."""
    emulated = any("emulated" in cell for cell in result["cells"])
    both = any(cell["verdict_ns2"] for cell in result["cells"])
    heads = ["verdict", "row", "column", "measured", "± 95 %", "published", "ns-2", "ratio", "rfc", "seeds"]
    heads += ["emulated", "± 95 %", "runs"] if emulated else []
    heads += ["vs print", "vs ns-2"] if both else []
    rows = []
    for cell in result["cells"]:
        row = [cell["verdict"] or "-", cell["row"], cell["column"]]
        row += [number(cell[key]) for key in ("measured", "ci95", "published", "ns2")]
        row += [over(cell["ratio"], cell["ratio_over"]), number(cell["rfc_profile"]), str(cell["runs"])]
        if emulated:
            row += [number(cell.get(key)) for key in ("emulated", "emulated_ci95")]
            row.append(str(cell.get("emulated_runs", "-")))
        row += [MARKS.get(cell[key], "-") for key in ("verdict_print", "verdict_ns2")] if both else []
        rows.append(row)
    return heads, rows


def variant(one: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the table of a variant."""
    keys = ("measured", "ci95", "to_unchanged", "ratio")
    rows = [[cell["row"], cell["column"], *(number(cell[key]) for key in keys)] for cell in one["cells"]]
    return ["row", "column", "measured", "± 95 %", "to unchanged", "ratio"], rows


def claim(one: dict[str, Any]) -> str:
    """A claim with what it says of each side."""
    word = {True: "holds", False: "fails", None: "cannot be decided"}
    low, high = one["between"]
    line = f"{word[one['holds']]}: {one['text']} ({number(one['value'])}, wanted {low:g} to {high:g}"
    for name, key in (("print", "source"), ("ns-2", "ns2"), ("emulated", "emulation")):
        if one[f"value_in_{key}"] is not None:
            line += f"; {name} {number(one[f'value_in_{key}'])}"
    return line + ")" + (f" {one['undecidable']}" if one["undecidable"] else "")


def columns(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with its columns below each other; numbers to the right."""
    table = [list(heads), *map(list, rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
    lines = []
    for row in table:
        cells = [text.ljust(width) if i < 3 else text.rjust(width) for i, (text, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def experiment(result: dict[str, Any]) -> str:
    """One experiment for a terminal."""
    lines = [f"{result['id']} · {result['title']}", result["source"], sentence(result)]
    lines.append(f"at most {result['runs']} seeds, {result['packet_hops']} packet hops")
    if result["cells"]:
        lines += ["", columns(*cells(result))]
    lines += ["", *map(claim, result["claims"])] if result["claims"] else []
    for one in result["variants"]:
        lines += ["", f"variant {one['name']} ({one['about']}), {one['runs']} runs", columns(*variant(one))]
    return "\n".join(lines) + "\n"


def document(results: dict[str, Any]) -> str:
    """All experiments, and how many have which verdict."""
    found = results["experiments"]
    text = "\n".join(experiment(one) for one in found)
    if len(found) > 1:
        width = max(len(one["id"]) for one in found)
        text += "\n" + "\n".join(f"{one['id']:<{width}}  {sentence(one)}" for one in found) + "\n"
        count = Counter(one["verdict"] for one in found)
        text += "\n" + ", ".join(f"{count[word]} {word}" for word in VERDICTS if count[word]) + "\n"
    return text
