"""The matrix as a picture: picture.svg, from the results that `tfrc reproduce --out DIR` writes.

    python3 experiments/modern/tcp-matrix/picture.py DIR/results.json

Panels by TCP and queue; in each a cell for every rate and round-trip time, with the share emulated
(large) above simulated (small). A row with fewer than ten sawteeth is not settled: grey, in brackets.
"""

import json
import math
import re
import sys
from html import escape
from pathlib import Path

ID = "modern/tcp-matrix"
SETTLED = 10
# Width and height of a cell; space for the labels of a panel left of it and above it.
CELL, LABEL = (46, 34), (46, 38)
GAP, HEAD = 14, 54
# The factor from 1, either way, that has the full colour.
FULL = 4.0
ABOUT = (
    "share: emulated (large) above simulated (small); orange above 1, blue below, full colour at a "
    "factor of 4; grey and in brackets: not settled"
)


def short(x: float) -> str:
    """Two or three digits."""
    digits = 1 if x >= 99.95 else 0 if x >= 9.95 else 1 if x >= 0.995 else 2
    return f"{x:.{digits}f}"


def colour(x: float) -> str:
    """White at 1, orange above it, blue below, by the logarithm."""
    part = max(-1.0, min(1.0, math.log(x) / math.log(FULL))) if x > 0 else -1.0
    full = (240, 146, 48) if part > 0 else (92, 156, 222)
    return "#" + "".join(f"{int(255 + (light - 255) * abs(part)):02x}" for light in full)


def order(name: str) -> float:
    """Names that begin with a number by that, the others behind them as they come."""
    number = re.match(r"[0-9.]+", name)
    return float(number[0]) if number else math.inf


def text(x: float, y: float, words: str, style: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(words)}</text>\n'


def cell(x: float, y: float, share: dict, teeth: dict) -> str:
    middle, fill, words = x + CELL[0] / 2, None, ""
    for world, height, style in [
        ("emulated", 15, 'font-size="13" font-weight="bold"'),
        ("measured", 29, 'font-size="10.5"'),
    ]:
        value, count = share.get(world), teeth.get(world)
        if value is None:
            continue
        settled = count is None or count >= SETTLED
        if settled and fill is None:
            fill = colour(value)
        shown, ink = (short(value), "#000000") if settled else (f"({short(value)})", "#777777")
        words += text(middle, y + height, shown, f'text-anchor="middle" fill="{ink}" {style}')
    words = words or text(middle, y + 21, "–", 'text-anchor="middle" fill="#777777"')
    size = f'width="{CELL[0]}" height="{CELL[1]}" fill="{fill or "#eeeeee"}" stroke="#ffffff"'
    return f'<rect x="{x:g}" y="{y:g}" {size}/>\n{words}'


def picture(experiment: dict) -> str:
    table: dict = {}
    for one in experiment["cells"]:
        # tcp/rate/rtt/queue/room
        table.setdefault(tuple(one["row"].split("/")[:4]), {})[one["column"]] = one
    tcps, rates, rtts, queues = (
        sorted(dict.fromkeys(keys[place] for keys in table), key=order) for place in range(4)
    )
    panel = (LABEL[0] + CELL[0] * len(rates), LABEL[1] + CELL[1] * len(rtts))
    width = GAP + (panel[0] + GAP) * len(queues)
    height = HEAD + (panel[1] + GAP) * len(tcps)
    svg = text(GAP, 20, experiment["title"], 'font-size="15" font-weight="bold"')
    svg += text(GAP, 40, ABOUT, 'fill="#444444"')
    for i, tcp in enumerate(tcps):
        for j, queue in enumerate(queues):
            left = GAP + (panel[0] + GAP) * j + LABEL[0]
            top = HEAD + (panel[1] + GAP) * i + LABEL[1]
            middle = left + CELL[0] * len(rates) / 2
            svg += text(middle, top - 25, f"{tcp} · {queue}", 'text-anchor="middle" font-weight="bold"')
            for n, rate in enumerate(rates):
                at = left + CELL[0] * (n + 0.5)
                svg += text(at, top - 5, rate, 'text-anchor="middle" fill="#444444"')
            for m, rtt in enumerate(rtts):
                y = top + CELL[1] * m
                svg += text(left - 5, y + 21, rtt, 'text-anchor="end" fill="#444444"')
                for n, rate in enumerate(rates):
                    # Nothing stands where the table has no row.
                    if row := table.get((tcp, rate, rtt, queue)):
                        svg += cell(left + CELL[0] * n, y, row.get("share", {}), row.get("teeth", {}))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12" role="img">\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n{svg}</svg>\n'
    )


def main() -> None:
    results = json.loads(Path(sys.argv[1]).read_text())
    experiment = next(one for one in results["experiments"] if one["id"] == ID)
    Path(__file__).with_name("picture.svg").write_text(picture(experiment))


main()
