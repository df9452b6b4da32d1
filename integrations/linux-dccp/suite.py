#!/usr/bin/env python3
"""`tfrc send --raw` and `tfrc recv --raw` with the DCCP of Linux 6.1, in a guest of qemu without KVM, and a path of
55 ms between them: each end's round-trip time, p and data in one table. Needs root on Debian 12; every run is in a
network namespace of its own. README.md has the results."""

import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import guest
import wire
from cases import CASES, OURS, OURS6, SIZE
from lines import Lines

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RTT = 0.055
"""Round-trip time of the path, seconds."""
R_BAND = 0.15
"""Part by which our R may differ from the path's."""
P_BAND = 0.1
"""Part by which p of the two ends may differ at the end: the last report may be on its way."""
ON_ITS_WAY = 10
"""Packets that a connection may lose that one end ends while the other sends: those of two round-trip times."""
LONGEST = 90
"""Seconds after which a run ends at the latest."""
WAIT = 60
"""Seconds that anything may take to begin."""
LOAD = 1.5
"""The highest load for each processor at which a run begins."""


@dataclass
class Seen:
    """The record of a run by both ends, the path and the capture."""

    lines: list[str]
    records: list[dict]
    stderr: str
    code: int
    path: dict
    packets: wire.Count
    received: bytes
    clock: float | None
    other: str | None = None

    def kernel(self, kind):
        """The numbers of the kernel's last line of this kind."""
        return (self.kernels(kind) or [{}])[-1]

    def kernels(self, kind):
        """The numbers of all lines of this kind."""
        lines = (line for line in self.lines if line.startswith(f"PEER {kind} "))
        return [dict(re.findall(r"(\w+)=(\S+)", line)) for line in lines]

    def ours(self, key):
        """Our values of a key, one for each interval of the second half."""
        found = [r[key] for r in self.records if r.get("type") == "interval" and r.get(key) is not None]
        return found[len(found) // 2:]

    def end(self):
        return next((r for r in reversed(self.records) if r.get("type") == "end"), {})


def row(case, seen):
    """The figures of a run, and what is wrong with them."""
    wrong = []
    kernel_end, our_end = seen.kernel("end"), seen.end()
    kernel = seen.kernel("tx" if case.sender == "kernel" else "rx")
    rtt = statistics.median(seen.ours("rtt_s") or [0.0])
    p = (seen.ours("loss_event_rate") or [0.0])[-1] or 0.0
    way = 0 if case.sender == "kernel" else 1
    dropped = len(seen.path["dropped"][way])
    if case.sender == "kernel":
        sent, got = seen.path["data"][0], int(our_end.get("received_packets") or 0)
        if int(kernel_end.get("sent", 0)) != sent and not case.stop:
            wrong.append(f"{kernel_end.get('sent')} given to the kernel, {sent} went")
        whole = wire.numbered(sent, SIZE, set(seen.path["dropped"][0]))
        if not case.slow and seen.received != (whole[:len(seen.received)] if case.stop else whole):
            wrong.append(f"{len(seen.received)} bytes taken are not those of {sent} packets less {dropped}")
    else:
        sent, got = int(our_end.get("sent_packets") or 0), int(kernel_end.get("got", 0))
        if float(kernel_end.get("bytes", 0)) != SIZE * got:
            wrong.append("datagrams of another size")
        if not case.lies and (our_end.get("corrected_feedback") or our_end.get("refused_feedback")):
            wrong.append(f"{our_end['corrected_feedback']} reports cut down, {our_end['refused_feedback']} refused")
    cut = case.stop or "stay=3" in case.kernel
    if cut and kernel_end.get("ended_by") != ("them" if case.stop else "us"):
        wrong.append(f"the kernel says that {kernel_end.get('ended_by')} ended it")
    # What our program does not take we name; what the kernel's does not take the kernel counts as lost.
    unread = 0 if not case.slow else int(our_end.get("dropped_by_reader_packets") or max(0, sent - dropped - got))
    if got == 0 or got != sent - dropped - unread and not (cut and 0 <= sent - dropped - got <= ON_ITS_WAY):
        wrong.append(f"{sent} sent, {dropped} dropped, {got} came")
    if case.steady and abs(rtt / RTT - 1) > R_BAND:
        wrong.append(f"R {rtt * 1e3:.1f} ms")
    theirs = float(kernel.get("p", 0))
    if case.steady and abs(theirs - p) > P_BAND * max(theirs, p):
        wrong.append(f"p {theirs:.5f} there, {p:.5f} here")
    if seen.code != 0 and not (cut or case.slow):
        wrong.append(f"exit status {seen.code}")
    # Data on its way to a socket that the kernel has closed gets "No Connection", and so does a Reset that acknowledges too much.
    fit = (wire.CLOSED, wire.NO_CONNECTION) if cut or case.lies else (wire.CLOSED,)
    foreign = {code: n for code, n in seen.packets.resets.items() if code not in fit}
    if foreign:
        wrong.append(f"Resets: {foreign}")
    if seen.other:
        wrong.append(seen.other)
    if case.judge:
        wrong += case.judge(seen)[1]
    return [float(kernel.get("rtt", 0)) * 1e3, rtt * 1e3, theirs, p, sent, dropped, got], wrong


def refused(case, seen):
    """Both ends have to name the CCID that is not spoken: in the Reset, and in our words."""
    wrong = []
    if case.refused not in seen.stderr + json.dumps(seen.records):
        wrong.append(f"our words lack {case.refused}: {seen.stderr.strip()[-300:]}")
    named = {code: n for code, n in seen.packets.resets.items() if code in (wire.OPTION_ERROR, wire.MANDATORY_ERROR)}
    if not named:
        wrong.append(f"no Reset names an option: {seen.packets.resets}")
    return None, wrong


def start(command, **more):
    return subprocess.Popen([str(word) for word in command], **more)


def feed(pipe, pause, pps, secs):
    """A stream of numbered data at the rate of the cases, with a pause."""
    begin, n, waited = time.monotonic(), 0, 0.0
    try:
        while n < pps * secs:
            if not waited and n >= pps * pause[0]:
                waited = pause[1]
            time.sleep(max(0.0, begin + waited + n / pps - time.monotonic()))
            n += 1
            pipe.write(n.to_bytes(4, "big").ljust(SIZE, b"Z"))
            pipe.flush()
    except BrokenPipeError:
        pass
    finally:
        pipe.close()


def network():
    """usr0, ours, at one end of the path; tap0, the guest's, at the other."""
    for words in ("link set lo up", "link add usr0 type veth peer name usr1", "tuntap add tap0 mode tap"):
        subprocess.run(["ip", *words.split()], check=True)
    for name in ("usr1", "tap0"):
        Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
    for words in ("link set usr0 up", "link set usr1 up", "link set tap0 up", f"addr add {OURS}/24 dev usr0",
                  f"addr add {OURS6}/64 dev usr0 nodad"):
        subprocess.run(["ip", *words.split()], check=True)
    # Else the host answers for the guest's questions on tap0 too, and frames go past the path.
    Path("/proc/sys/net/ipv4/conf/all/arp_ignore").write_text("1")


def run(case, tfrc, cache):
    """Runs one case in the present namespace."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        capture, output, kept = folder / "capture.pcap", folder / "data", []
        try:
            path = start([sys.executable, HERE / "path.py", "tap0", "usr1", "--delay", RTT / 2, "--capture", capture,
                          *case.path], stdout=subprocess.PIPE)
            said = Lines(path.stdout)
            said.wait_for("^ready", WAIT)
            end = Ours(case.command(tfrc, output), (case.feed, case.pps, case.secs) if case.feed else None)
            kept.append(end)
            if case.caller == "kernel":
                end.listen()
            there = guest.Guest(cache, case.words())
            kept.append(there)
            if case.caller == "ours":
                if not there.said.wait_for("PEER listens", WAIT):
                    raise guest.NotHere("the guest did not begin: " + " / ".join(there.said.lines[-5:]))
                end.start()
            latest = time.monotonic() + LONGEST
            second = Second(tfrc) if case.second else None
            if case.stop:
                there.said.wait_for("PEER connected", WAIT)
                time.sleep(case.stop)
                end.process.terminate()
            while not there.said.wait_for("^GUEST ends", 1) and not there.said.over and time.monotonic() < latest:
                if end.process.poll() not in (None, 0):
                    break
            code = end.wait(20)
            other = second.wait() if second else None
        finally:
            for one in reversed(kept):
                one.end()
            path.terminate()
            counts = json.loads(said.whole().splitlines()[-1])
            path.wait()
        received = output.read_bytes() if output.exists() else b""
        packets = wire.Count(capture.read_bytes(), bytes.fromhex(guest.MAC.replace(":", "")))
        return Seen(there.said.lines, end.records(), "\n".join(end.errors.lines), code, counts, packets, received,
                    there.clock(), other)


class Ours:
    """A process of ours, its records and its words."""

    def __init__(self, command, data=None):
        self.command, self.data, self.process = command, data, None

    def start(self):
        data = subprocess.PIPE if self.data else subprocess.DEVNULL
        self.process = start(self.command, stdin=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.output, self.errors = Lines(self.process.stdout), Lines(self.process.stderr)
        if self.data:
            threading.Thread(target=feed, args=(self.process.stdin, *self.data), daemon=True).start()

    def listen(self):
        self.start()
        if not self.errors.wait_for("listening on", WAIT):
            raise guest.NotHere("ours does not listen: " + " / ".join(self.errors.lines))

    def wait(self, seconds):
        """The exit status; None for one that did not end."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        self.end()
        return code

    def end(self):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        self.output.whole(), self.errors.whole()

    def records(self):
        return [json.loads(line) for line in self.output.lines if line.startswith("{")]


class Second:
    """A listener and a sender of ours on the same host, beside a kernel's connection."""

    def __init__(self, tfrc):
        port = ["--port", "7000"]
        self.taking = Ours([tfrc, "recv", "--raw", "--json-stream", "-1", *port])
        self.taking.listen()
        self.giving = Ours([tfrc, "send", "--raw", "--json-stream", "-t", "12s", "--pps", "200", f"{OURS}:7000"])
        self.giving.start()

    def wait(self):
        """The fault, if there is one."""
        codes = [self.giving.wait(30), self.taking.wait(30)]
        ends = [next((r for r in one.records() if r.get("type") == "end"), {}) for one in (self.giving, self.taking)]
        sent, got = ends[0].get("sent_packets"), ends[1].get("received_packets")
        return None if codes == [0, 0] and sent == got else f"beside: {codes}, {sent} sent, {got} came"


HEAD = ["case", "kernel's R, ms", "ours", "kernel's p", "ours", "sent", "dropped", "came"]
SAID = ["case", "said"]


def line(cells):
    return "| " + " | ".join(cells) + " |"


def printed(name, figures):
    r_there, r_here, p_there, p_here, *counts = figures
    return line([name, f"{r_there:.1f}", f"{r_here:.1f}", f"{p_there:.4f}", f"{p_here:.4f}", *map(str, counts)])


def sound(case, asked):
    """A run whose guest's clock agrees with ours, of three at most."""
    for _ in range(3):
        seen = run(case, asked.tfrc.resolve(), asked.cache)
        clock = seen.clock
        if seen.code or clock is not None and abs(clock - 1) <= guest.CLOCK:
            return seen
        print(f"   the guest's clock was {clock} of ours; once more", file=sys.stderr)
    raise guest.NotHere("no run with a sound clock")


def inside(asked):
    """Runs the cases; prints the tables of README.md."""
    network()
    faults, words = [], []
    if not asked.bare:
        print(line(HEAD) + "\n| --- |" + " ---: |" * (len(HEAD) - 1), flush=True)
    for name, case in CASES.items():
        if asked.case and name not in asked.case:
            continue
        try:
            seen = sound(case, asked)
        except guest.NotHere as why:
            faults.append(f"{name}: {why}")
            continue
        figures, wrong = (refused if case.refused else row)(case, seen)
        if figures:
            print(printed(name, figures), flush=True)
        if case.judge:
            words.append(line([name, case.judge(seen)[0]]))
        if asked.verbose or wrong:
            said = ["", *seen.lines, seen.stderr, str(seen.end()), str(seen.packets), str(seen.path)]
            print("\n".join(said), file=sys.stderr)
        faults += [f"{name}: {fault}" for fault in wrong]
    if words:
        head = [] if asked.bare else ["", line(SAID), line(["---"] * len(SAID))]
        print("\n".join(head + words), flush=True)
    for fault in faults:
        print(f"wrong: {fault}", file=sys.stderr)
    return 1 if faults else 0


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tfrc", type=Path, default=ROOT / "target/release/tfrc", help="the program")
    parser.add_argument("--cache", type=Path, default=ROOT / "target/linux-dccp", help="where the kernel is kept")
    parser.add_argument("--load", type=float, default=LOAD, help="highest load for each processor to begin at")
    parser.add_argument("--case", action="append", choices=list(CASES), help="only these")
    parser.add_argument("--bare", action="store_true", help="no head of the table")
    parser.add_argument("--verbose", action="store_true", help="print all that the ends say")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser


def main():
    asked = options().parse_args()
    if asked.inside:
        return inside(asked)
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    if load > asked.load:
        print(f"load {load:.1f} for each processor: guests without KVM need an idle one (--load)", file=sys.stderr)
        return 1
    try:
        if lacking := guest.missing():
            raise guest.NotHere("apt-get install --no-install-recommends " + " ".join(lacking))
        if os.geteuid() != 0:
            raise guest.NotHere("root is needed")
        kernel = guest.prepare(asked.cache).removeprefix("linux-image-")
    except guest.NotHere as why:
        print(why, file=sys.stderr)
        return 1
    if not asked.bare:
        print(f"One run each on {datetime.date.today()}, guest {kernel}, {os.cpu_count()} processors at a load of about "
              f"{os.getloadavg()[0]:.0f}:\n", flush=True)
    return subprocess.run(["unshare", "--net", sys.executable, *sys.argv, "--inside"]).returncode


if __name__ == "__main__":
    sys.exit(main())
