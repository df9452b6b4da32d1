"""Results as text: a table for terminals, Markdown for pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Optional

VERDICTS = ("agrees-with-print", "agrees-with-ns2", "undetermined", "disagrees", "not-run")


def number(x: Optional[float]) -> str:
    """A number in four digits; `-` for none."""
    if x is None:
        return "-"
    return f"{x:.0f}" if abs(x) >= 1000 else f"{x:.4g}"


def sentence(result: dict[str, Any]) -> str:
    """The verdict in one true sentence."""
    tally, words = result["tally"], []
    for name, of in (("print", "the print"), ("ns2", "ns-2")):
        count = sum(tally[name].values())
        if count:
            words.append(f"{tally[name]['agree']} of {count} values agree with {of}")
    if tally["claims"]:
        words.append(f"{tally['claims_held']} of {tally['claims']} claims hold")
    begin = {
        "agrees-with-print": "Agrees with the print",
        "agrees-with-ns2": "Agrees with ns-2, not with the print",
        "undetermined": "Cannot be decided with these runs",
        "disagrees": "Disagrees",
        "not-run": f"Was not run: {result['reason']}",
    }[result["verdict"]]
    if result["verdict"] == "agrees-with-ns2" and result["verdict_print"] is None:
        begin = "Agrees with ns-2; nothing is printed to compare with"
    return ": ".join([begin, ", ".join(words)]) + "." if words else begin + "."


def cells(result: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the table of cells; the verdict stands third, in view on a narrow screen."""
    emulated = any("emulated" in cell for cell in result["cells"])
    heads = ["row", "column", "verdict", "measured", "± 95 %", "published", "ns-2", "ratio", "rfc", "seeds"]
    heads += ["emulated", "± 95 %", "runs"] if emulated else []
    rows = []
    for cell in result["cells"]:
        row = [cell["row"], cell["column"], cell["verdict"] or "-"]
        row += [number(cell[key]) for key in ("measured", "ci95", "published", "ns2", "ratio", "rfc_profile")]
        row.append(str(cell["runs"]))
        if emulated:
            row += [number(cell.get(key)) for key in ("emulated", "emulated_ci95")]
            row.append(str(cell.get("emulated_runs", "-")))
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
