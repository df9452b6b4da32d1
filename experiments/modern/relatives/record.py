#!/usr/bin/env python3
"""Runs each sender under each condition in `tfrc emu`, and prints `emulated.csv`; `tfrc-lab record` calls it.

Every run is a line of runs.csv, refused ones too, and a command that was stopped goes on from there. Needs root on
Linux, g++, and the programs that README.md names.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import io
import json
import math
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
WEBRTC = HERE.parents[2] / "integrations/webrtc"
sys.path.insert(0, str(WEBRTC))
import calls  # noqa: E402
import figures  # noqa: E402

from tfrc.lab import over  # noqa: E402
from tfrc.lab.statistics import estimate  # noqa: E402

RATE, FROM, TO = 10e6, 10, 34
"""Rate of the bottleneck, bit/s; the measured time, seconds of the run."""
CHANGED = 22
"""When the path of `halved` and of `hand-over` changes, seconds of the run."""
DELAY = 19.5
"""Delay of the rest of the path each way, ms: that of scenario.toml."""
LEAD = 6
"""Seconds later that all of this is for browsers, which start meanwhile."""
LIVE, VIDEO = 8_000_000, 4_000_000
"""Rate of the live stream, of data, and the most that the browser's encoder makes; bit/s."""
PATHS = ("0.5ms", "0.9ms", "1.3ms")
"""Delay of the sender's own line in each run, so that no cell is at the mercy of one phase."""
TRIES = 2
RED = '{ red = { limit = "100p", min = 5, max = 20, max_p = "10%", ecn = "on" } }'
COLUMNS = ("mbps", "share", "queue_ms", "lost", "cov", "ect", "ce")
FIDELITY = ("rate_error", "programs_waited", "kernel_waited", "delay_error_p50_s", "delay_error_p99_s", "own_drops")


@dataclass(frozen=True)
class Condition:
    """A column of the table: changes of the scenario, if a CUBIC is beside it, the runs, when it is measured, and the
    path from then on, if it changes: the rate of the bottleneck, bit/s, and what the rest of the path is longer each
    way, ms."""

    changes: tuple[str, ...] = ()
    beside: bool = False
    runs: int = 3
    measured: tuple[float, float] = (FROM, TO)
    rate: float = RATE
    longer: float = 0


CONDITIONS = {
    "alone": Condition(),
    "beside-cubic": Condition(beside=True),
    "loss-1%": Condition(("link.bottleneck.loss=1%",)),
    "red-ecn": Condition((f"link.bottleneck.queue={RED}",)),
    "loss-5%": Condition(("link.bottleneck.loss=5%",), runs=1),
    "halved": Condition(runs=1, measured=(CHANGED, TO), rate=RATE / 2),
    "hand-over": Condition(runs=1, measured=(CHANGED, TO), rate=3e6, longer=40),
}


@dataclass(frozen=True)
class Place:
    """Where and how one run is made."""

    folder: Path
    tools: Path
    tfrc: Path
    condition: str
    seconds: float


def tcp(place: Place, node: str, port: int) -> list[tuple[str, str]]:
    """A CUBIC of the kernel from a node; behind RED it asks for ECN, which Linux by default only answers."""
    ecn = "sysctl -qw net.ipv4.tcp_ecn=1; " if place.condition == "red-ecn" else ""
    return [
        ("far", f"{ecn}iperf3 -s -1 -p {port}"),
        (node, f"{ecn}sleep 0.3; iperf3 -c far -p {port} -C cubic -t {place.seconds}"),
    ]


def ours(profile: str):
    def programs(place: Place) -> list[tuple[str, str]]:
        send = f"{place.tfrc} send far --wait 5s -t {place.seconds}s --profile {profile}"
        return [("far", f"{place.tfrc} recv --bind 0.0.0.0 --one"), ("near", send)]

    return programs


def uftp(place: Place) -> list[tuple[str, str]]:
    (place.folder / "got").mkdir()
    with (place.folder / "file").open("wb") as file:
        file.truncate(int(2 * RATE / 8 * place.seconds))
    return [
        ("far", f"uftpd -d -U 0x00000002 -D {place.folder}/got"),
        ("near", "sleep 0.3; uftp -C tfmcc -H 0x00000002 -M far file"),
    ]


def norm(place: Place) -> list[tuple[str, str]]:
    ecn = " ecn" if place.condition == "red-ecn" else ""
    return [
        ("far", f"{place.tools}/norm receive near {place.seconds + 2}{ecn}"),
        ("near", f"{place.tools}/norm send far {place.seconds}{ecn}"),
    ]


def srt(place: Place) -> list[tuple[str, str]]:
    return [
        ("far", 'srt-live-transmit -q "srt://:9000?mode=listener" file://con > /dev/null'),
        ("near", 'srt-live-transmit -q "udp://127.0.0.1:5000" "srt://far:9000"'),
        ("near", f"{sys.executable} {HERE}/live.py {LIVE} {place.seconds}"),
    ]


def browser(place: Place) -> list[tuple[str, str]]:
    calls.write(place.folder, place.seconds - LEAD, LEAD, most=VIDEO, picture=str(calls.picture(place.tools)))
    ends = [("far", "receive"), ("near", "send")]
    return [("near", calls.begin(place.folder)), *((node, calls.browser(place.folder, role)) for node, role in ends)]


def quic(library: str, control: str):
    def programs(place: Place) -> list[tuple[str, str]]:
        program = place.tools / "quic_streams"
        return [
            ("far", f"{program} receive 0.0.0.0:7000"),
            ("near", f"sleep 0.2; {program} {library} {control} $(getent hosts far | cut -d' ' -f1):7000 {place.seconds}"),
        ]

    return programs


SENDERS = {
    "tfrc-rfc5348": ours("rfc5348"),
    "tfrc-balanced": ours("balanced"),
    "uftp": uftp,
    "norm": norm,
    "srt": srt,
    "chromium": browser,
    "cubic": lambda place: tcp(place, "near", 5202),
    "quinn-cubic": quic("quinn", "cubic"),
    "quinn-bbr": quic("quinn", "bbr"),
    "noq-cubic": quic("noq", "cubic"),
    "noq-bbr3": quic("noq", "bbr"),
}
BROWSER = threading.Lock()
"""Two processors bear one pair of browsers at a time."""


def cells() -> list[tuple[str, str]]:
    """Each sender with each of its conditions: the rows of published.csv."""
    with (HERE / "published.csv").open(newline="") as file:
        return [(line["sender"], line["condition"]) for line in csv.DictReader(one for one in file if one[0] != "#")]


def build(tools: Path, senders: set[str]) -> None:
    """The programs of these senders that are source here, into a folder that may have them."""
    tools.mkdir(parents=True, exist_ok=True)
    calls.picture(tools)
    calls.fetch()
    if not (tools / "norm").exists():
        subprocess.run(["g++", "-w", "-O1", "-o", tools / "norm", HERE / "norm.cc", "-lnorm", "-lpthread"], check=True)
    if (tools / "quic_streams").exists() or not any(sender.startswith(("quinn", "noq")) for sender in senders):
        return
    workspace = HERE.parents[2] / "integrations"
    command = ["cargo", "build", "--locked", "--quiet", "--manifest-path", workspace / "Cargo.toml", "--package",
               "tfrc-frames", "--bin", "quic_streams", "--message-format", "json"]  # fmt: skip
    folder = {"CARGO_TARGET_DIR": str(HERE.parents[2] / "target/integrations")} | os.environ
    said = subprocess.run(command, env=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    made = [json.loads(line).get("executable") for line in said.splitlines()]
    shutil.copy([path for path in made if path][-1], tools / "quic_streams")


def versions(tfrc: Path) -> dict[str, str]:
    """The programs, with what they or their packages say of themselves."""

    def said(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return (done.stdout + done.stderr).strip().splitlines()[0].strip()

    packages = {"uftp": "uftp", "norm": "libnorm1", "srt": "srt-tools", "chromium": "chromium", "cubic": "iperf3"}
    found = {name: f"{one} {said('dpkg-query', '-W', '-f', '${Version}', one)}" for name, one in packages.items()}
    lock = (HERE.parents[2] / "integrations/Cargo.lock").read_text()
    found |= {name: re.search(rf'name = "{name}"\nversion = "(.*)"', lock)[1] for name in ("quinn", "noq")}
    return {"tfrc": said(str(tfrc), "--version"), **found}


def measured(folder: Path, begin: float, end: float, rates: list[tuple[float, float]]) -> dict[str, float]:
    """The figures of a run: what left the bottleneck from `begin` to `end`, s of the run."""
    address, free, everything, joined = (folder / "near").read_bytes(), 0.0, [], 0
    for at, octets, length in figures.capture(folder / "bottleneck.pcap"):
        start = max(at, free)
        free = start + length * 8 / [one for since, one in rates if since <= start][-1]
        joined += octets[12:16] == address and begin <= at < end
        if begin <= free < end:
            everything.append((free, start - at, length, octets[12:16] == address))
    near = [one for one in everything if one[3]]
    bits, both = (8 * sum(one[2] for one in some) for some in (near, everything))
    seconds = [0] * round(end - begin)
    for left, _, length, _ in near:
        seconds[int(left - begin)] += length
    with (folder / "series.csv").open(newline="") as file:
        lines = [one for one in csv.DictReader(file) if one["link"] == "near" and begin < float(one["t_s"]) <= end]
    arrived = sum(int(one["received_packets"]) for one in lines)
    began = float((folder / "begin").read_text())
    marks = [
        octets[15] & 3 for at, octets, _ in figures.capture(folder / "marks.pcap")
        if octets[26:30] == address and begin <= at - began < end
    ] if (folder / "marks.pcap").exists() else []  # fmt: skip
    return {
        "mbps": bits / (end - begin) / 1e6,
        "share": over(bits, both),
        "queue_ms": 1e3 * over(sum(one[1] for one in everything), len(everything)),
        "lost": 1 - over(joined, arrived),
        "cov": over(statistics.pstdev(seconds), statistics.fmean(seconds)),
        "ect": over(sum(mark != 0 for mark in marks), len(marks)),
        "ce": over(marks.count(3), len(marks)),
    }


def run(tfrc: Path, tools: Path, sender: str, condition: str, number: int, short: bool, keep: Path | None) -> dict:
    """One run, as a line of runs.csv."""
    about, lead = CONDITIONS[condition], LEAD if sender == "chromium" else 0
    begin, end = (2, 6) if short else about.measured
    begin, end = begin + lead, end + lead
    rates = [(0.0, RATE)]
    changes = [*about.changes, f"link.near.delay={PATHS[(number - 1) % len(PATHS)]}"]
    if about.rate != RATE:
        rates.append((float(begin), about.rate))
        changes.append(f'link.bottleneck.changes=[{{ at = "{begin}s", rate = "{about.rate / 1e6:g}Mbit/s" }}]')
    if about.longer:
        later = f'changes = [{{ at = "{begin}s", delay = "{DELAY + about.longer:g}ms" }}]'
        changes += [f"link.rest.{later.replace(' = ', '=', 1)}", f"link.rest.reverse={{ {later} }}"]
    with tempfile.TemporaryDirectory(prefix="relatives-") as scratch:
        folder = Path(scratch)
        place = Place(folder, tools, tfrc, condition, end + 1)
        programs = [("near", "date +%s.%N > begin; ip -4 -o addr show dev net0 > address")]
        # The captures of links show packets as they were sent: marks are seen where they arrive.
        programs += [("far", "exec tcpdump -U -Z root -i net0 -Q in -s 40 -w marks.pcap")] if "red" in condition else []
        programs += tcp(place, "other", 5201) if about.beside else []
        programs += SENDERS[sender](place)
        programs.append(("far", f"sleep {end - 0.3 * len(programs) + 0.5}"))
        command = [str(tfrc), "emu", str(HERE / "scenario.toml"), "--seed", str(number), "--json", "--series",
                   "series.csv"]  # fmt: skip
        command += ["--pcap", "bottleneck", "bottleneck.pcap"]
        # A browser's threads work for longer without sleeping than a program that runs first may.
        command += [] if sender == "chromium" else ["--first"]
        for change in changes:
            command += ["--set", change]
        for place_, (node, program) in enumerate(programs):
            command += ["--at", node, f"({program}) >> {node}-{place_}.log 2>&1" if " > " not in program else program]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        (folder / "emu.log").write_text(done.stderr)
        row = {"sender": sender, "condition": condition, "run": number, "day": today(), "valid": "no", "why": ""}
        try:
            if done.returncode not in (0, 3):
                raise RuntimeError(f"tfrc emu ended with {done.returncode}")
            said = json.loads(done.stdout.splitlines()[-1])
            address = re.search(r"inet ([0-9.]+)", (folder / "address").read_text())
            (folder / "near").write_bytes(bytes(map(int, address[1].split("."))))
            row |= measured(folder, begin, end, rates)
            row |= {f"fidelity.{name}": said["fidelity"].get(name) for name in FIDELITY}
            row["kernel"] = json.dumps(said["kernel"])
            why = "emulator" if done.returncode else fed(folder, sender) or ("" if row["mbps"] > 0 else "nothing was sent")
            row |= {"valid": "no" if why else "yes", "why": why}
        except (RuntimeError, OSError, ValueError, KeyError, IndexError, TypeError) as error:
            row["why"] = f"failed: {error}"
        if keep:
            shutil.copytree(folder, keep / f"{sender}-{condition}-{number}-{int(time.time())}", ignore=large)
    return row


def large(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name in ("file", "got") or name.endswith(".pcap") or name.startswith("profile-")]


def fed(folder: Path, sender: str) -> str:
    """Why the browser's figures are not its control's: too little of the processors; else nothing."""
    if sender != "chromium":
        return ""
    seen = figures.encoder(calls.Case([(0, 10)], [0], 0, 0, [], (0, 0)), folder)
    return "" if seen["pictures_s"] >= calls.PICTURES and "cpu" not in seen["limits"].split() else "encoder"


def today() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")


FIELDS = ("sender", "condition", "run", "day", "valid", "why", *COLUMNS, *(f"fidelity.{name}" for name in FIDELITY), "kernel")


def read(path: Path) -> list[dict]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def table(rows: list[dict], about: dict[str, str]) -> str:
    """The text of emulated.csv."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n")
    write.writerow(("row", "run", "column", "mean", "ci95", "runs", "note"))
    kernel: dict = {}
    for sender, condition in cells():
        cell = [row for row in rows if (row["sender"], row["condition"]) == (sender, condition)]
        valid = [row for row in cell if row["valid"] == "yes"]
        kernel = json.loads(valid[-1]["kernel"]) if valid else kernel
        name, refused = f"{sender}/{condition}", [row["why"] for row in cell if row["valid"] != "yes"]
        note = f"{len(refused)} of {len(cell)} runs invalid: {', '.join(sorted(set(refused)))}" if refused else ""
        for part in FIDELITY if valid else ():
            values = [float(row[f"fidelity.{part}"]) for row in valid if row[f"fidelity.{part}"] not in ("", "None")]
            write.writerow((name, "run", f"fidelity.{part}", text(max(values, key=abs, default=math.nan)), "", 0, ""))
        for column in COLUMNS if cell else ():
            values = [value for row in valid if math.isfinite(value := float(row[column]))]
            mean, ci95 = estimate(values)
            write.writerow((name, "run", column, text(mean), text(ci95), len(values), note))
    days = sorted(row["day"] for row in rows) or ["never"]
    head = ["Emulated runs of modern/relatives, written by `tfrc-lab record`", f"kernel: {kernel.get('release', '?')}"]
    head += [f"first day: {days[0]}", f"last day: {days[-1]}"]
    head += [f"{name}: {value}" for name, value in sorted({**kernel.get("notes", {}), **about}.items())]
    return "".join(f"# {line}\n" for line in head) + out.getvalue()


def text(x: float) -> str:
    return "" if math.isnan(x) else f"{x:.6g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", metavar="SENDER/CONDITION", help="these alone")
    parser.add_argument("--tfrc", type=Path, default=shutil.which("tfrc"), help="the program, if it is not in PATH")
    parser.add_argument("--runs", type=Path, default=HERE / "runs.csv", help="every run is a line of this file")
    parser.add_argument("--jobs", type=int, default=1, help="runs at once")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no run after this time")
    parser.add_argument("--quick", action="store_true", help="one short run of each cell, into no file")
    parser.add_argument("--keep", type=Path, help="keeps the programs' words here")
    parser.add_argument("--tools", type=Path, help="keeps what is built here, and takes it from here")
    given = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="relatives-tools-") as tools_:
        tools = (given.tools or Path(tools_)).resolve()
        rows = [] if given.quick else read(given.runs)
        lock = threading.Lock()

        def wanted() -> list[tuple[str, str, int]]:
            missing = []
            for number in range(1, max(one.runs for one in CONDITIONS.values()) + 1):
                for sender, condition in cells():
                    same = [r for r in rows if (r["sender"], r["condition"], int(r["run"])) == (sender, condition, number)]
                    chosen = not given.cells or f"{sender}/{condition}" in given.cells
                    runs = 1 if given.quick else CONDITIONS[condition].runs
                    if chosen and number <= runs and not any(r["valid"] == "yes" for r in same):
                        missing.append((sender, condition, number))
            # Single cells come after those with three runs.
            return sorted(missing, key=lambda one: (CONDITIONS[one[1]].runs < 3, one[2]))

        def one(sender: str, condition: str, number: int) -> None:
            if time.monotonic() - begun > 60 * given.minutes:
                return
            if sender == "chromium":
                with BROWSER:
                    row = run(given.tfrc, tools, sender, condition, number, given.quick, given.keep)
            else:
                row = run(given.tfrc, tools, sender, condition, number, given.quick, given.keep)
            with lock:
                rows.append(row)
                if not given.quick:
                    new = not given.runs.exists()
                    with given.runs.open("a", newline="") as file:
                        writer = csv.DictWriter(file, FIELDS, lineterminator="\n", restval="")
                        if new:
                            writer.writeheader()
                        writer.writerow(row)
            print(" ".join(f"{k}={text(v) if isinstance(v, float) else v}" for k, v in row.items()
                           if k != "kernel" and not k.startswith("fidelity")), file=sys.stderr, flush=True)  # fmt: skip

        if missing := wanted():
            build(tools, {sender for sender, _, _ in missing})
        for _ in range(1 if given.quick else TRIES):
            with ThreadPoolExecutor(max(given.jobs, 1)) as pool:
                list(pool.map(lambda task: one(*task), wanted()))
    rows = rows if given.quick else read(given.runs)
    print(table([{k: "" if v is None else str(v) for k, v in {**dict.fromkeys(FIELDS, ""), **row}.items()} for row in rows],
                versions(given.tfrc)), end="")  # fmt: skip


if __name__ == "__main__":
    main()
