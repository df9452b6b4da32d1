"""The pages of the playground in Chromium: `check.py PROGRAM PICTURES`, for `cargo xtask full`.

`check.py stills` renews the pictures in `docs/playground/` that Markdown pages show.

Figures are those of the program, byte for byte. Every example is opened at both widths, light and
dark; labels, contrast, keys, links, mistakes and files are tried. Frames are reported, not judged.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from browse import Browser, Fault

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/playground/index.html"
LESSON = ROOT / "docs/playground/how-tfrc-works.html"
WIDTHS = (1280, 420)
#: WCAG 2.1, 1.4.3 for text and 1.4.11 for curves.
TEXT_CONTRAST = 4.5
CURVE_CONTRAST = 3
#: With more flows a page gets no numbers of all of them.
MANY_FLOWS = 1000

READY = ("waits === 0 && panes.length > 0 && panes.every((pane) => pane.run && pane.run.result) "
         "&& !document.querySelector('#status').textContent.includes('unpacked')")

LUMINANCE = """
const parts = (color) => { const c = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  c.fillStyle = color; c.fillRect(0, 0, 1, 1); return c.getImageData(0, 0, 1, 1).data; };
const light = (color) => { const [r, g, b] = [...parts(color)].slice(0, 3).map((v) => v / 255)
  .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
const behind = (node) => { for (let at = node; at; at = at.parentElement) {
  const color = getComputedStyle(at).backgroundColor; if (parts(color)[3] === 255) return color; } return 'white'; };
"""

FAINT = f"""(() => {{ {LUMINANCE}
const faint = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walk.nextNode(); node; node = walk.nextNode()) {{
  const at = node.parentElement;
  if (!node.textContent.trim() || !at.getClientRects().length || at.closest('script, noscript, option, .stale')) continue;
  if (at.matches(':disabled')) continue;
  const found = contrast(getComputedStyle(at).color, behind(at));
  if (found < {TEXT_CONTRAST}) faint.push(`${{node.textContent.trim().slice(0, 30)}}: ${{found.toFixed(2)}}`);
}}
const style = getComputedStyle(document.documentElement);
for (const name of ['--c0', '--c1', '--c2', '--c3', '--c4', '--c5', '--quiet', '--accent']) {{
  const found = contrast(style.getPropertyValue(name), behind(document.body));
  if (found < {CURVE_CONTRAST}) faint.push(`${{name}}: ${{found.toFixed(2)}}`);
}}
return faint; }})()"""

NAMELESS = """[...document.querySelectorAll('input, select, textarea, button, canvas, svg, img, a')]
  .filter((one) => !(one.getAttribute('aria-label') || one.getAttribute('alt') || one.textContent.trim() || [...(one.labels ?? [])].some((label) => label.textContent.trim())))
  .filter((one) => one.tagName !== 'svg' || one.getAttribute('aria-hidden') !== 'true')
  .map((one) => one.outerHTML.slice(0, 80))"""

WIDER = """document.documentElement.scrollWidth > innerWidth
  ? [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
    .map((one) => one.outerHTML.slice(0, 80)).slice(0, 3) : []"""

FOCUSABLE = """[...document.querySelectorAll('a[href], button, input, select, textarea, [tabindex="0"], summary')]
  .filter((one) => !one.disabled && one.getClientRects().length)"""


def expect(holds: bool, why: str) -> None:
    """Ends the check unless this holds."""
    if not holds:
        raise Fault(why)


def looks_right(browser: Browser, where: str) -> None:
    """No complaint, no network, nothing nameless, faint or too wide."""
    for what, found in (("complaints", browser.complaints), ("asked of the network", browser.requests),
                        ("without a name", browser.script(NAMELESS)), ("too faint", browser.script(FAINT)),
                        ("wider than the window", browser.script(WIDER))):
        expect(not found, f"{where}: {what}: {found}")


def single(path: Path) -> bool:
    """Returns true for a scenario of one run."""
    text = path.read_text()
    runs = re.search(r"^runs = (\d+)", text, re.MULTILINE)
    return "[[sweep]]" not in text and (runs is None or runs[1] == "1")


def equal(browser: Browser, program: Path) -> None:
    """Compares the documents of the page with those of the program."""
    browser.open(PAGE)
    names = []
    for path in sorted((ROOT / "scenarios").glob("*.toml")):
        if not single(path):
            continue
        told = subprocess.run([program, "sim", path, "--json"], capture_output=True, text=True, check=True)
        many = any(int(count) > MANY_FLOWS for count in re.findall(r"^count = (\d+)", path.read_text(), re.MULTILINE))
        for looks in (0,) if many else (0, 600):
            answer = browser.script(f"new Simulator().run({{ text: {json.dumps(path.read_text())}, looks: {looks} }})"
                                    ".then((one) => one.document ?? JSON.stringify(one))")
            expect(answer.strip() == told.stdout.strip(),
                   f"{path.name} with {looks} looks: the page has another document than the program")
        names.append(path.stem)
    print(f"   equal to tfrc sim --json, byte for byte: {', '.join(names)}")


def examples(browser: Browser, pictures: Path) -> None:
    """Opens every example at both widths, light and dark."""
    browser.open(PAGE)
    names = browser.script("PRESETS.map((one) => one.id)")
    for name in names:
        for width in WIDTHS:
            for dark in (False, True):
                browser.open(PAGE, f"#{name}", width=width, dark=dark)
                browser.until(READY)
                browser.script("play(false); state.at = panes[0].run.duration * 0.7; show()")
                shown = f"{name}-{width}{'-dark' if dark else ''}"
                looks_right(browser, shown)
                expect(browser.script("$('preset').value") == name, f"{shown}: another example is shown")
                browser.picture(pictures / f"{shown}.png")
    print(f"   {len(names)} examples at {WIDTHS[0]} and {WIDTHS[1]} px, light and dark: {pictures}")


def moves(browser: Browser, pictures: Path) -> None:
    """A slider, the keys, a link, a mistake, a file."""
    browser.open(PAGE, "#tcp")
    browser.until(READY)
    before = browser.script("panes[0].run.document")
    browser.script("document.querySelector('#sliders input').focus()")
    browser.press("ArrowRight")
    browser.until(f"{READY} && panes[0].run.document !== {json.dumps(before)}")
    expect('rate = "5Mbit/s"' in browser.script("$('text').value"), "the slider did not change the text")
    browser.picture(pictures / "slider.png")

    # Every control is reached by Tab, and the focus can be seen.
    browser.script("document.activeElement.blur(); scrollTo(0, 0)")
    wanted = browser.script(f"{FOCUSABLE}.length")
    reached = set()
    for _ in range(wanted + 3):
        browser.press("Tab")
        reached.add(browser.script(f"{FOCUSABLE}.indexOf(document.activeElement)"))
    expect(len(reached - {-1}) == wanted, f"by Tab {len(reached - {-1})} of {wanted} controls are reached")
    browser.script("play(false); document.querySelector('canvas').focus()")
    browser.press("End")
    browser.press("ArrowLeft")
    expect(0 < browser.script("panes[0].run.duration - pointer") < 1, "arrow keys do not move along a chart")
    browser.press(" ")
    expect(browser.script("state.playing"), "the space bar does not play")

    # A link holds text, changes, time and speed.
    browser.script("play(false); $('changes').value = 'link.line.queue=10p'; $('changes').oninput()")
    browser.until(f"{READY} && panes.length === 2")
    browser.script("state.at = 12.5; state.speed = 50; show()")
    link = browser.script("fragment()")
    held = browser.script("[state.text, state.changes, 12.5, 50]")
    browser.open(PAGE, link)
    browser.until(f"{READY} && panes.length === 2")
    found = browser.script("play(false) ?? [state.text, state.changes, 12.5, state.speed]")
    expect(found == held and browser.script("state.at") >= 12.5, "a link does not hold all of a state")
    browser.picture(pictures / "link.png")
    large = browser.script("(state.text = ' '.repeat(2e6), fragment())")
    browser.open(PAGE, large)
    browser.until(READY)
    expect("more than 1 MB" in browser.script("$('mistakes').textContent"), "a link unpacks to megabytes")
    browser.open(PAGE, link[:40])
    browser.until(READY)
    expect("damaged" in browser.script("$('mistakes').textContent"), "a damaged link is not named")

    # A mistake is shown with its line, and leads there.
    browser.script("$('text').value = PRESETS[0].text.replace('queue =', 'qeue ='); $('text').oninput()")
    browser.until("$('mistakes').textContent.includes('Line')")
    words = browser.script("$('mistakes').textContent")
    line = browser.script("PRESETS[0].text.split('\\n').findIndex((one) => one.startsWith('queue')) + 1")
    expect(f"Line {line}, column 1" in words and "queue" in words, f"the mistake is shown as {words!r}")
    browser.script("document.querySelector('#mistakes button').click()")
    expect(browser.script("$('text').value.slice($('text').selectionStart, $('text').selectionEnd)") == "qeue",
           "a mistake does not lead to its place")
    browser.picture(pictures / "mistake.png")

    # It is gone as soon as something runs, and a long run can be stopped.
    browser.script("$('text').value = PRESETS[0].text.replace(/^duration = .*/m, 'duration = \"100000s\"'); $('text').oninput()")
    browser.until("!$('stop').hidden")
    expect(browser.script("$('mistakes').textContent") == "", "a mistake stays while a scenario runs")
    browser.script("$('stop').click()")
    expect(browser.script("$('status').textContent").startswith("Stopped after"), "a run cannot be stopped")

    # What is no text does not take the place of the scenario.
    browser.script("(() => { const data = new DataTransfer(); data.items.add(new File([new Uint8Array([137, 80, 78, 71, 0])], 'a.png'));"
                   "dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true })); })()")
    browser.until("$('mistakes').textContent.includes('a.png is no text')")
    expect("100000s" in browser.script("state.text"), "a file that is no text has taken the scenario's place")

    # A file that is dropped is taken.
    text = json.dumps((ROOT / "scenarios/parking-lot.toml").read_text())
    browser.script(f"(() => {{ const data = new DataTransfer(); data.items.add(new File([{text}], 'parking-lot.toml'));"
                   "dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true })); })()")
    browser.until(f"{READY} && state.text === {text}")
    looks_right(browser, "a dropped file")
    print("   slider, keys, link, mistake and file as they should be")


def lesson(browser: Browser, pictures: Path) -> None:
    """The page of four pictures."""
    for width in WIDTHS:
        for dark in (False, True):
            browser.open(LESSON, width=width, dark=dark)
            browser.until("LESSONS.length === 4 && LESSONS.every((one) => one.ready)")
            browser.script("LESSONS.forEach((one) => one.seek(0.7))")
            shown = f"how-{width}{'-dark' if dark else ''}"
            looks_right(browser, shown)
            browser.picture(pictures / f"{shown}.png")
    # The bars with their weights give the mean that stands there.
    label, said = browser.script("(() => { LESSONS[0].seek(0.16); return [LESSONS[0].sketch.canvas.getAttribute('aria-label'), "
                                 "LESSONS[0].said.textContent]; })()")
    bars = [(int(packets), float(weight)) for packets, weight in re.findall(r"(\d+) × ([\d.]+)", label)]
    first = int(re.search(r"open (\d+)", label)[1])
    weights = [weight for _, weight in bars]
    means = [sum(map(lambda one, weight: one * weight, some, weights)) / sum(weights)
             for some in ([packets for packets, _ in bars], [first, *(packets for packets, _ in bars)])]
    shown = float(re.search(r"1 / ([\d.]+)", said)[1])
    expect(abs(max(means) - shown) < 1, f"bars of {label} give {means}, and {said!r} stands there")
    print("   How TFRC works: four pictures")


def frames(browser: Browser) -> None:
    """Frames per second with 32 flows, for whoever reads this."""
    browser.open(PAGE, "#tcp")
    browser.until(READY)
    browser.script("change(PRESETS[0].text.replaceAll('count = 2', 'count = 16').replace('4Mbit/s', '15Mbit/s'))")
    browser.until(f"{READY} && panes[0].run.flows === 32")
    rate = browser.script("new Promise((done) => { state.at = 0; state.speed = 10; play(true); const from = frames, since = "
                          "performance.now(); setTimeout(() => done((frames - from) / (performance.now() - since) * 1e3), 4000); })")
    print(f"   {rate:.0f} frames a second while 32 flows play (30 are wanted, on an idle machine); "
          + browser.script("$('status').textContent"))


def stills(browser: Browser) -> None:
    """Writes the pictures of the book."""
    def still(name: str, selector: str, height: float | None = None) -> None:
        box = browser.script(f"(({{ x, y, width, height }}) => ({{ x: x + scrollX, y: y + scrollY, width, height }}))"
                             f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")
        browser.picture(PAGE.parent / f"{name}.png", clip=box | ({"height": height} if height else {}))

    browser.open(LESSON, width=820)
    browser.until("LESSONS.length === 4 && LESSONS.every((one) => one.ready)")
    browser.script("LESSONS.forEach((one) => { one.play(false); one.seek(0.55); })")
    for name in browser.script("LESSONS.map((one) => one.id)"):
        still(f"how-{name}", f"#{name} .lesson")
    browser.open(PAGE, "#tcp", width=1080)
    browser.until(READY)
    browser.script("play(false); state.at = 42; show()")
    still("playground", "body", 980)


def main() -> None:
    """Runs all of it."""
    if sys.argv[1:] == ["stills"]:
        with Browser() as browser:
            stills(browser)
        return
    program, pictures = Path(sys.argv[1]), Path(sys.argv[2])
    with Browser() as browser:
        equal(browser, program)
        examples(browser, pictures)
        moves(browser, pictures)
        lesson(browser, pictures)
        frames(browser)


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(f"error: {fault}")
