#!/usr/bin/env python3
"""A browser's video and a session of `tfrc send` over one queue, which marks or does not: the share of each, and the
ECN bits behind the queue. ScreamV2 sends ECT(1), a session ECT(0), libwebrtc neither.

    python3 integrations/webrtc/marks.py red ScreamV2 rfc5348        # as root; two minutes

A line of 4 Mbit/s, 100 ms there and back, counted from 30 to 70 s. Needs what calls.py needs.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import calls
import figures

MARKING = '{ red = { limit = "100p", min = 5, max = 20, max_p = "10%", ecn = "on" } }'
QUEUES = {"red": MARKING, "drop-tail": '"150000B"'}
BEGIN, END = 30, 70
SESSION_PORT = 6511
UDP = 17


def scenario(queue: str) -> str:
    """The path in two links, so that a capture of the second has the marks of the first one's queue."""
    return f"""duration = "100s"
nodes = ["near", "gate", "far"]
[[link]]
from = "near"
to = "gate"
rate = "4Mbit/s"
delay = "0ms"
queue = {QUEUES[queue]}
reverse = {{ rate = "100Mbit/s", queue = "1000p" }}
[[link]]
from = "gate"
to = "far"
name = "behind"
rate = "1Gbit/s"
delay = "50ms"
"""


def counted(path: Path) -> dict:
    """Bytes, and packets by their two ECN bits, of video and of the session."""
    seen = {"video": [0, [0] * 4], "session": [0, [0] * 4]}
    for at, octets, length in figures.capture(path):
        if not BEGIN <= at < END or octets[9] != UDP:
            continue
        header = (octets[0] & 15) * 4
        source = int.from_bytes(octets[header : header + 2], "big")
        to = int.from_bytes(octets[header + 2 : header + 4], "big")
        row = seen["session" if SESSION_PORT in (source, to) else "video"]
        row[0] += length
        row[1][octets[1] & 3] += 1
    return seen


def run(queue: str, control: str, profile: str, folder: Path, options) -> dict:
    calls.write(
        folder, seconds=END, lead=calls.LEAD, trials=calls.CONTROLS[control], chromium=options.chromium,
        picture=str(calls.picture(folder)),
    )  # fmt: skip
    (folder / "scenario.toml").write_text(scenario(queue))
    ends = [(node, calls.browser(folder, role)) for node, role in (("far", "receive"), ("near", "send"))]
    programs = [("near", calls.begin(folder)), *ends]
    if profile != "none":
        send = f"{options.tfrc} send far --wait 5s -t {END - calls.LEAD + 3}s --profile {profile}"
        programs += [
            ("far", f"{options.tfrc} recv --bind 0.0.0.0 --one > {folder}/recv.log 2>&1"),
            ("near", f"sleep {calls.LEAD}; {send} > {folder}/session.log 2>&1"),
        ]
    command = [options.tfrc, "emu", folder / "scenario.toml", "--json", "--pcap", "behind", folder / "behind.pcap"]
    for node, program in programs:
        command += ["--at", node, program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(f"error: `tfrc emu` ended with {done.returncode}: {done.stderr.strip()}")
    row = {"queue": queue, "control": control, "session": profile, "valid": done.returncode == 0}
    seen = counted(folder / "behind.pcap")
    total = sum(octets for octets, _ in seen.values())
    if not seen["video"][0]:
        raise SystemExit(f"error: no video passed; {folder}/send.log has the reason, with --keep")
    for name, (octets, marks) in seen.items():
        mbit = round(octets * 8 / (END - BEGIN) / 1e6, 2)
        row[name] = {"mbps": mbit, "share": round(octets / total, 3), "not_ect,ect1,ect0,ce": marks}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queue", choices=QUEUES)
    parser.add_argument("control", choices=calls.CONTROLS)
    parser.add_argument("session", choices=["rfc5348", "balanced", "none"])
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keeps captures and statistics here")
    parser.add_argument("--tfrc", default=shutil.which("tfrc"), help="the program, if it is not in PATH")
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    options = parser.parse_args()
    for name in ("tfrc", "chromium"):
        if not getattr(options, name):
            parser.error(f"{name} is not in PATH; say --{name} PATH")
    options.tfrc = Path(options.tfrc).resolve()
    calls.fetch()
    with tempfile.TemporaryDirectory(prefix="tfrc-webrtc-") as scratch:
        folder = (options.keep or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        print(json.dumps(run(options.queue, options.control, options.session, folder, options)))


if __name__ == "__main__":
    main()
