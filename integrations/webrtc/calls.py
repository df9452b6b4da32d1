#!/usr/bin/env python3
"""Video of libwebrtc, as Chromium has it, in the test cases of docs/media.md: two headless browsers across `tfrc emu`,
next to the kernel's TCP where the case has one. Needs root on Linux, Debian's chromium, nodejs and npm, ffmpeg, iperf3.
The controls of GStreamer are elements between two webrtcbin, as in integrations/gst/examples, which has what they need.

Every run is one row of runs.csv, those that the emulator refused or an encoder starved in too: `valid` says which count.
"""

import argparse
import csv
import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import figures

HERE = Path(__file__).resolve().parent
LEAD = 10
"""Seconds of the emulation before the case begins: two browsers start meanwhile."""
MOST = 4_000_000
"""The encoder's highest rate, bit/s, as that of the simulated encoder."""
PICTURES = 0.9
"""The part of its pictures that the source must have made, or the machine starved it: of 30 a second in a browser, of
25 in GStreamer."""

SCREAM = "WebRTC-RFC8888CongestionControlFeedback/Enabled,offer:true/WebRTC-Bwe-ScreamV2/Enabled,mode:always/"
CONTROLS = {"libwebrtc": "", "ScreamV2": SCREAM}
"""The field trials of each control."""
GSTREAMER = Path(__file__).resolve().parents[1] / "gst/examples/halving.py"
ELEMENTS = {"rtpgccbwe": ["--part", "0.9"], "rtptfrcbwe": ["--part", "0.8", "--max-queue-delay", "80"]}
"""GStreamer's controls, and the encoder's part of their estimate: the rest is for headers, and to empty a pacer."""


@dataclass
class Case:
    """A case of integrations/bench, cases.rs: the same numbers under the same names. `lossy` is of here alone."""

    rates: list[tuple[float, float]]
    flows: list[float]
    queue: int
    seconds: int
    phases: list[tuple[float, list[float]]]
    shared: tuple[float, float]
    pause: tuple[float, float] | None = None
    tcp: bool = False
    loss: str = "0"

    def rate_at(self, second: float) -> float:
        return [mbit for at, mbit in self.rates if at <= second][-1]


CASES = {
    "variable-one": Case(
        [(0, 1), (40, 2.5), (60, 0.6), (80, 1)], [0], 37_500, 100,
        [(0, [1]), (40, [1]), (60, [1]), (80, [1])], (5, 100),
    ),
    "variable-two": Case(
        [(0, 4), (25, 2), (50, 3.5), (75, 1), (100, 2)], [0, 0], 150_000, 125,
        [(at, [0.5, 0.5]) for at in (0, 25, 50, 75, 100)], (5, 125),
    ),
    "same": Case(
        [(0, 3.5)], [0, 20, 40], 131_250, 120,
        [(0, [1, 0, 0]), (20, [0.5, 0.5, 0]), (40, [1 / 3] * 3)], (60, 120),
    ),
    "tcp": Case([(0, 2)], [5], 75_000, 120, [(5, [0.5])], (60, 119), tcp=True),
    "tcp-long-queue": Case([(0, 2)], [5], 250_000, 120, [(5, [0.5])], (60, 119), tcp=True),
    "pause": Case(
        [(0, 3.5)], [0, 0, 0], 131_250, 120,
        [(0, [1 / 3] * 3), (40, [0, 0.5, 0.5]), (60, [1 / 3] * 3)], (70, 120), pause=(40, 60),
    ),
    "lossy": Case([(0, 4)], [0], 150_000, 60, [(0, [1])], (5, 60), loss="2%"),
}  # fmt: skip


def scenario(case: Case) -> str:
    changes = ", ".join(f'{{ at = "{LEAD + at}s", rate = "{mbit}Mbit/s" }}' for at, mbit in case.rates[1:])
    return f"""duration = "{LEAD + case.seconds + 20}s"
nodes = ["near", "far"]
[[link]]
from = "near"
to = "far"
name = "path"
rate = "{case.rates[0][1]}Mbit/s"
delay = "50ms"
queue = "{case.queue}B"
loss = "{case.loss}"
changes = [{changes}]
reverse = {{ rate = "100Mbit/s", delay = "50ms", queue = "1000p" }}
"""


def picture(folder: Path) -> Path:
    """A picture that takes 30 kbit/s to 5 Mbit/s without using a fifth of a processor."""
    path = folder / "picture.y4m"
    if not path.exists():
        source = "testsrc2=size=320x240:rate=30,noise=alls=20:allf=t"
        command = ["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", source, "-t", "10", "-pix_fmt", "yuv420p"]
        subprocess.run([*command, path], check=True)
    return path


def fetch() -> None:
    """Gets the package that drives a browser, by version and hash, if it is not there."""
    if not (HERE / "node_modules").exists():
        subprocess.run(["npm", "ci", "--ignore-scripts", "--silent"], cwd=HERE, check=True)


def write(folder: Path, seconds: float, lead: float, **given) -> None:
    """Writes into the folder what browser.js reads: seconds of the call, after those until it begins; its other keys
    where one flow without a pause, of at most MOST, is not it. A browser that only receives needs no picture."""
    call = {
        "flows": [0], "pause": None, "seconds": seconds, "lead": lead, "most": MOST, "plain": False, "trials": "",
        "chromium": shutil.which("chromium"), "page": str(HERE / "page.html"),
    } | given  # fmt: skip
    (folder / "call.json").write_text(json.dumps(call))


def begin(folder: Path) -> str:
    """The command that says to browsers when the emulation began."""
    return f"cd {folder} && date +%s.%N > now && mv now start"


def browser(folder: Path, role: str) -> str:
    """The command of one end, "send" or "receive"."""
    return f"exec node {HERE / 'browser.js'} {role} {folder} > {folder}/{role}.log 2>&1"


def browsers(case: Case, control: str, folder: Path, options) -> list[tuple[str, str]]:
    """The ends of a call of browsers."""
    fetch()
    write(
        folder, case.seconds, LEAD, flows=case.flows, pause=case.pause, trials=CONTROLS[control],
        chromium=options.chromium, picture=str(picture(folder.parent)),
    )  # fmt: skip
    return [("near", begin(folder)), ("far", browser(folder, "receive")), ("near", browser(folder, "send"))]


def elements(case: Case, control: str, folder: Path) -> list[tuple[str, str]]:
    """The ends of a call of GStreamer; half a second is about what it takes to connect."""
    if len(case.flows) > 1:
        raise SystemExit(f"error: {control} is for cases with one flow")
    first = case.flows[0]

    def end(role: str, more: str) -> str:
        words = f"/usr/bin/python3 {GSTREAMER} {role} --out {folder} --seconds {case.seconds - first:g} {more}"
        return f"exec {words} > {folder}/{role}.log 2>&1"

    given = " ".join(["--estimator", control, "--most", str(MOST), *ELEMENTS[control]])
    return [("far", end("receive", "")), ("near", f"sleep {LEAD + first - 0.5:g}; {end('send', given)}")]


def fed(control: str, pictures: float, limits: str) -> bool:
    """True if the encoder had the processor."""
    return pictures >= PICTURES * (25 if control in ELEMENTS else 30) and "cpu" not in limits.split()


def run(case: Case, control: str, folder: Path, options) -> dict:
    """One run; its files stay in the folder."""
    (folder / "scenario.toml").write_text(scenario(case))
    gstreamer = control in ELEMENTS
    programs = elements(case, control, folder) if gstreamer else browsers(case, control, folder, options)
    if case.tcp:
        programs += [
            ("far", f"iperf3 -s -1 > {folder}/tcp-far.log 2>&1"),
            ("near", f"sleep {LEAD}; iperf3 -c far -C cubic -t {case.seconds - 1} > {folder}/tcp-near.log 2>&1"),
        ]
    command = [options.tfrc, "emu", folder / "scenario.toml", "--json", "--pcap", "path", folder / "path.pcap"]
    command += ["--first"] if gstreamer else []
    for node, program in programs:
        command += ["--at", node, program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (folder / "emu.json").write_text(done.stdout)
    (folder / "emu.log").write_text(done.stderr)
    for profile in folder.glob("profile-*"):
        shutil.rmtree(profile, ignore_errors=True)
    if done.returncode not in (0, 3):
        said = done.stderr.strip() or "nothing"
        raise SystemExit(f"error: `tfrc emu` ended with {done.returncode} and said {said}; --keep FOLDER keeps the files")
    read = figures.gstreamer if gstreamer else figures.encoder
    seen = figures.network(case, folder, LEAD) | read(case, folder)
    starved = not fed(control, seen["pictures_s"], seen["limits"])
    why = "emulator" if done.returncode else "encoder" if starved else ""
    version = json.loads((folder / "send.version.json").read_text())
    return {"program": version, "control": control, "valid": "no" if why else "yes", "starved": why} | seen


def keep(path: Path, row: dict) -> None:
    new = not path.exists()
    with path.open("a", newline="") as out:
        writer = csv.DictWriter(out, row)
        if new:
            writer.writeheader()
        writer.writerow(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; all if none is named")
    parser.add_argument("--control", choices=[*CONTROLS, *ELEMENTS], action="append", help="both of Chromium if none is named")
    parser.add_argument("--valid", type=int, default=1, metavar="N", help="runs that count, for each case and control")
    parser.add_argument("--most", type=int, metavar="N", help="tries for these, 2 N if absent")
    parser.add_argument("--out", type=Path, default=Path("runs.csv"), help="rows are appended to this file")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keeps captures and statistics of each run here")
    parser.add_argument("--tfrc", default=shutil.which("tfrc"), help="the program, if it is not in PATH")
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    options = parser.parse_args()
    if unknown := [name for name in options.cases if name not in CASES]:
        parser.error(f"no case {unknown[0]!r}; there are {', '.join(CASES)}")
    wanted = options.control or [*CONTROLS]
    for name in ("tfrc", "chromium") if any(control in CONTROLS for control in wanted) else ("tfrc",):
        if not getattr(options, name):
            parser.error(f"{name} is not in PATH; say --{name} PATH")
    with tempfile.TemporaryDirectory(prefix="tfrc-webrtc-") as scratch:
        root = (options.keep or Path(scratch)).resolve()
        root.mkdir(parents=True, exist_ok=True)
        missing = []
        for case in options.cases or CASES:
            for control in wanted:
                valid = 0
                for _ in range(options.most or 2 * options.valid):
                    if valid == options.valid:
                        break
                    number = 1 + len(list(root.glob(f"{case}-{control}-*")))
                    folder = root / f"{case}-{control}-{number}"
                    folder.mkdir()
                    row = {"case": case} | run(CASES[case], control, folder, options)
                    keep(options.out, row)
                    valid += row["valid"] == "yes"
                    print(" ".join(f"{key}={value}" for key, value in row.items() if value not in (None, "")))
                    sys.stdout.flush()
                if valid < options.valid:
                    missing.append(f"{case} {control}: {valid} of {options.valid}")
    if missing:
        raise SystemExit("error: too few valid runs: " + "; ".join(missing))


if __name__ == "__main__":
    main()
