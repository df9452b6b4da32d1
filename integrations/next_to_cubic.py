#!/usr/bin/env python3
"""Frames over noq or quinn at the rate of TFRC next to a TCP of the kernel with CUBIC, in `tfrc emu`.

    python3 integrations/next_to_cubic.py noq --tfrc tfrc

Builds `integrations/frames`, and runs it for 60 s next to iperf3, three times, over 2
Mbit/s, a round trip of 40 ms and a queue of 25 packets. Prints what each received from 10 s on, and
the media's share of both. Needs iperf3.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCENARIO = HERE.parent / "scenarios/bottleneck.toml"
PROGRAMS = {"noq": "noq_frames", "quinn": "quinn_frames"}
# Seconds of each run, and those at its beginning that do not count.
SECONDS, BEGINNING = 60, 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("transport", choices=PROGRAMS)
    parser.add_argument("--tfrc", default="tfrc", help="the program")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    frames = built(given.transport)
    shares = []
    for number in range(1, given.runs + 1):
        media, tcp = one(given.tfrc, frames)
        shares.append(media / (media + tcp))
        print(f"run {number}: {given.transport} {media / 1e6:.2f} Mbit/s, CUBIC {tcp / 1e6:.2f}, "
              f"share {shares[-1]:.2f}", flush=True)
    mean = sum(shares) / len(shares)
    print(f"share of {given.transport}: {mean:.2f}, from {min(shares):.2f} to {max(shares):.2f}")


def built(transport):
    """The program for the transport."""
    command = ["cargo", "build", "--locked", "--manifest-path", HERE / "Cargo.toml", "--package",
               "tfrc-frames", "--bin", PROGRAMS[transport], "--message-format", "json"]
    folder = os.environ | {"CARGO_TARGET_DIR": str(HERE.parent / "target/integrations")}
    text = subprocess.run(command, env=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    made = [json.loads(line).get("executable") for line in text.splitlines()]
    return [path for path in made if path][-1]


def one(tfrc, frames):
    """Mean rates at which media and TCP arrive after the beginning of a run, bit/s."""
    with tempfile.TemporaryDirectory() as folder:
        # The TCP is there a while before the media and after it.
        command = [tfrc, "emu", SCENARIO,
                   "--at", "far", "iperf3 -s -1 -J > tcp.json",
                   "--at", "near", f"iperf3 -c far -t {SECONDS + 5} -C cubic > client.log",
                   "--at", "far", f"{frames} receive 0.0.0.0:7000 c.der > media.log",
                   "--at", "near", f"{frames} send far:7000 c.der {SECONDS} > sender.log; sleep 6"]
        done = subprocess.run(command, cwd=folder, env=os.environ, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        # 3 is a network outside of its limits of fidelity: a busy machine.
        if done.returncode not in (0, 3):
            sys.exit(done.stderr)
        if done.returncode == 3:
            print("the next run was outside of the emulator's limits: a busy machine", file=sys.stderr)
        media = [float(line.split()[3]) * 1e3 for line in (Path(folder) / "media.log").read_text().splitlines()
                 if " s: " in line]
        intervals = json.loads((Path(folder) / "tcp.json").read_text())["intervals"]
        tcp = [interval["sum"]["bits_per_second"] for interval in intervals]
        return [sum(rates) / len(rates) for rates in (media[BEGINNING:SECONDS], tcp[BEGINNING:SECONDS])]


if __name__ == "__main__":
    main()
