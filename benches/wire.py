#!/usr/bin/env python3
"""Datagrams of 1400 bytes of data by `tfrc send`, iperf3 -u, quinn and noq, on loopback and across a veth.

    python3 benches/wire.py TFRC DATAGRAMS [--rounds N] [--place lo|veth] [--json FILE]

TFRC is the program, DATAGRAMS the one of benches/src/bin/datagrams.rs (feature `endpoints`). Two
things are measured for each: user and system time of both ends for each datagram at 40 Mbit/s, the
median of the rounds, which run in turn; and the greatest rate of RATES without a loss, in two
rounds of four seconds each, where at least 97 % of the rate arrived, and the rates that lost nothing
and fell short. A tfrc that is built with `quic` is measured with --quic too. The veth lies between
two namespaces that this makes and takes away; that needs root.
"""

import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

BYTES = 1400
MBIT = 40
SECONDS = 4
# Mbit/s, until the first that loses.
RATES = [50, 100, 200, 400, 800, 1200, 1600, 2400, 3200]
PORT = 6620


class Place:
    """Where the two ends run: words before each of their commands, and the server's address."""

    def __init__(self, name):
        self.name = name
        self.address = "127.0.0.1" if name == "lo" else "10.78.0.2"
        self.near, self.far = f"wire-near-{os.getpid()}", f"wire-far-{os.getpid()}"

    def __enter__(self):
        if self.name == "veth":
            for line in (
                f"netns add {self.near}",
                f"netns add {self.far}",
                f"-n {self.near} link add name one type veth peer name two netns {self.far}",
                f"-n {self.near} address add 10.78.0.1/24 dev one",
                f"-n {self.far} address add 10.78.0.2/24 dev two",
                f"-n {self.near} link set one up",
                f"-n {self.far} link set two up",
            ):
                subprocess.run(["ip", *line.split()], check=True)
        return self

    def __exit__(self, *_):
        if self.name == "veth":
            for node in (self.near, self.far):
                subprocess.run(["ip", "netns", "delete", node], check=False)

    def words(self, at_server):
        node = self.far if at_server else self.near
        return [] if self.name == "lo" else ["ip", "netns", "exec", node]


def timed(command, output):
    """Starts a command whose output goes to a file, under time(1), which writes beside it."""
    with open(output, "wb") as out:
        words = ["/usr/bin/time", "-q", "-f", "%U %S", "-o", f"{output}.time", *command]
        return subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT)


def seconds_used(output):
    return sum(float(word) for word in Path(f"{output}.time").read_text().split()[-2:])


def tfrc(program, extra):
    def pair(place, folder, mbit, seconds):
        length = BYTES
        count = int(mbit * 1e6 / 8 * seconds / length)
        serve = [program, "recv", *extra, "-p", str(PORT), "-o", "/dev/null", "--json"]
        send = [program, "send", *extra, f"{place.address}:{PORT}", "-n", f"{count * length}B"]
        send += ["-l", f"{length}B", "-b", f"{mbit}Mbit/s", "--json"]

        def read(server, client):
            said = json.loads([line for line in client.splitlines() if line.startswith("{")][-1])
            lost = said["sent_packets"] - said["received_packets"]
            return said["received_packets"], lost, said["send_rate_bps"] / 1e6

        return serve, send, read

    return pair


def iperf3(pacing_us):
    """With its timer of a millisecond datagrams leave by three and four at 40 Mbit/s, with a shorter one alone."""

    def pair(place, folder, mbit, seconds):
        serve = ["iperf3", "-s", "-1", "-p", str(PORT)]
        send = ["iperf3", "-c", place.address, "-p", str(PORT), "-u", "-l", str(BYTES)]
        send += ["-b", f"{mbit}M", "-t", str(seconds), "-J", "--pacing-timer", str(pacing_us)]

        def read(server, client):
            total = json.loads(client)["end"]["sum"]
            return total["packets"] - total["lost_packets"], total["lost_packets"], total["bits_per_second"] / 1e6

        return serve, send, read

    return pair


def quic(program, library):
    def pair(place, folder, mbit, seconds):
        at = f"{place.address}:{PORT}"
        serve = [program, library, "serve", at, folder]
        send = [program, library, "send", at, folder, str(mbit), str(seconds)]

        def read(server, client):
            came, sent = int(server.split()[-1]), int(client.split()[-1])
            return came, sent - came, came * BYTES * 8 / 1e6 / seconds

        return serve, send, read

    return pair


def once(pair, place, mbit, seconds):
    """Datagrams that came, lost ones, Mbit/s, and seconds of the processor for both ends."""
    with tempfile.TemporaryDirectory() as folder:
        serve, send, read = pair(place, folder, mbit, seconds)
        server = timed([*place.words(True), *serve], f"{folder}/server")
        time.sleep(0.5)
        client = timed([*place.words(False), *send], f"{folder}/client")
        try:
            client.wait(seconds * 3 + 20)
            server.wait(10)
        finally:
            for process in (client, server):
                if process.poll() is None:
                    process.kill()
        used = seconds_used(f"{folder}/server") + seconds_used(f"{folder}/client")
        texts = [Path(folder, name).read_text() for name in ("server", "client")]
        try:
            return *read(*texts), used
        except (ValueError, KeyError, IndexError) as error:
            raise SystemExit(f"{shlex.join(send)}: {error}\n{texts[0][-600:]}\n{texts[1][-600:]}") from error


def greatest(pair, place):
    """The greatest rate of RATES of which two runs lost nothing, Mbit/s, and the rates below that fell short."""
    reached, short = 0, []
    for mbit in RATES:
        runs = [once(pair, place, mbit, SECONDS) for _ in range(2)]
        if any(lost > 0 for _, lost, _, _ in runs):
            break
        least = min(rate for _, _, rate, _ in runs)
        if least >= 0.97 * mbit:
            reached = mbit
        else:
            short.append(f"{least:.0f} of {mbit}")
    return reached, short


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tfrc")
    parser.add_argument("datagrams")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--place", choices=["lo", "veth"], action="append")
    parser.add_argument("--json", metavar="FILE")
    choice = parser.parse_args()
    build = "cargo build --release --no-default-features --features endpoints --bin datagrams, in benches/, makes it"
    for program, hint in ((choice.tfrc, ""), (choice.datagrams, f": {build}"), ("iperf3", ""), ("ip", "")):
        if not shutil.which(program):
            parser.error(f"{program} is no program here{hint}")
    pairs = {
        "tfrc send": tfrc(choice.tfrc, []),
        "iperf3 -u": iperf3(1000),
        "iperf3 -u --pacing-timer 50": iperf3(50),
        "quinn": quic(choice.datagrams, "quinn"),
        "noq": quic(choice.datagrams, "noq"),
    }
    quic_words = subprocess.run([choice.tfrc, "send", "--help-all"], capture_output=True, text=True).stdout
    if "--quic" in quic_words:
        pairs["tfrc send --quic"] = tfrc(choice.tfrc, ["--quic"])
    rows = []
    for name in choice.place or ["lo", "veth"]:
        with Place(name) as place:
            costs = {which: [] for which in pairs}
            for turn in range(choice.rounds):
                for which, pair in pairs.items():
                    came, lost, rate, used = once(pair, place, MBIT, SECONDS)
                    costs[which].append(used / came * 1e6)
                    print(f"{name} {which} {turn}: {came} came, {lost} lost, {rate:.1f} Mbit/s, "
                          f"{used / came * 1e6:.1f} us", flush=True)
            for which, pair in pairs.items():
                most, short = greatest(pair, place)
                row = {"place": name, "program": which, "us": statistics.median(costs[which]),
                       "least_us": min(costs[which]), "most_us": max(costs[which]), "lossless_mbit": most, "short": short}
                rows.append(row)
                print(f"| {name} | {which} | {row['us']:.1f} ({row['least_us']:.1f} to {row['most_us']:.1f}) "
                      f"| {most} | {', '.join(short)} |", flush=True)
    if choice.json:
        Path(choice.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
