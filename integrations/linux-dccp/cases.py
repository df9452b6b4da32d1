"""The cases: who calls, who sends, and what is asked of each and of the path; and what the ends have to have said in
those that are about options and features."""

from collections.abc import Callable
from dataclasses import dataclass, field

import guest
import wire

OURS, OURS6 = "10.33.0.1", "fd33::1"
SIZE = 500
"""Data in each packet, bytes."""
FAST = 100_000
"""Packets a second that no path here carries: as many as are allowed."""
DROPS = [100, 130, 180, 220, 221, 290]
"""Scripted drops of packets with data: five loss events, as two of them are in one round-trip time."""


@dataclass
class Case:
    """One connection: who calls, who sends, and what is asked of each and of the path."""

    caller: str
    sender: str
    kernel: list[str] = field(default_factory=list)
    ours: list[str] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    pps: int = 50
    secs: int = 6
    feed: tuple[float, float] | None = None
    steady: bool = True
    second: bool = False
    stop: float | None = None
    refused: str | None = None
    six: bool = False
    slow: bool = False
    """A program that does not read at first, or reports of one."""
    lies: bool = False
    judge: Callable | None = None

    def words(self):
        """The words of peer.c, of which the first of a key counts."""
        to = [f"addr={OURS6 if self.six else OURS}"] if self.caller == "kernel" else ["six=1"] * self.six
        data = [f"pps={self.pps}", f"size={SIZE}", f"secs={self.secs}"] if self.sender == "kernel" else ["stay=40"]
        return to + self.kernel + data

    def command(self, tfrc, output):
        """The command line of ours."""
        there, bind = (guest.ADDRESS6, ["--bind", OURS6]) if self.six else (guest.ADDRESS, [])
        if self.sender == "kernel":
            calls = ["--from", there] if self.caller == "ours" else ["-1", *bind]
            # A reader that takes nothing at first; without one of its own, a file.
            takes = ["--exec", "sh -c 'sleep 4; cat >/dev/null'", "--allow", "any"] if self.slow else ["--lossy", "-o", output]
            return [tfrc, "recv", "--raw", "--json-stream", *takes, *calls, *self.ours]
        calls = [there] if self.caller == "ours" else ["-R", "--allow", "any", *bind]
        data = ["-f", "-"] if self.feed else ["-t", f"{self.secs}s", "--pps", str(self.pps)]
        return [tfrc, "send", "--raw", "--json-stream", "--length", f"{SIZE}B", *data, *calls, *self.ours]


def number(data):
    return int.from_bytes(data, "big")


def ack_ratio(seen):
    """Both ends' words about Ack Ratio: the kernel's question in its Request, and ours, which the path puts in."""
    asked, answered = (seen.packets.said(guest, option, wire.ACK_RATIO)
                       for guest, option in ((True, wire.CHANGE_L), (False, wire.CONFIRM_R)))
    later = [number(value) for value in seen.packets.said(True, wire.CONFIRM_R, wire.ACK_RATIO)]
    words = f"the kernel asks for {number(asked[0]) if asked else None}, ours confirms "
    words += f"{number(answered[0]) if answered else None}; asked for 4 in the middle the kernel confirms {later}"
    return words, [] if asked and answered and asked[0] == answered[0] else [words]


def no_estimates(seen):
    """RFC 6323 with a kernel that does not know it: asked for, declined, not used."""
    ours = [seen.packets.said(False, option, wire.RTT_ESTIMATE) for option in (wire.CHANGE_L, wire.CHANGE_R)]
    theirs = [seen.packets.said(True, option, wire.RTT_ESTIMATE) for option in (wire.CONFIRM_R, wire.CONFIRM_L)]
    used = len(seen.packets.said(False, wire.RTT_ESTIMATE))
    words = f"asked {sum(map(len, ours))} times, {sum(map(len, theirs))} empty Confirms, {used} estimates of ours"
    good = all(ours) and any(theirs) and not any(value for one in theirs for value in one) and not used
    return words, [] if good else [words]


def ccids(value):
    """A judge: both halves have this CCID, and each end lists what it was given."""
    def judge(seen):
        kernel = seen.kernel("connected")
        words = f"the kernel has CCID {kernel.get('tx_ccid')} for what it sends, {kernel.get('rx_ccid')} for ours"
        lists = [", ".join(map(str, value)) for value in (*seen.packets.said(True, wire.CHANGE_L, wire.CCID)[:1],
                                                          *seen.packets.said(False, wire.CHANGE_L, wire.CCID)[:1])]
        words += f"; asked for: {' and '.join(lists)}"
        return words, [] if kernel.get("tx_ccid") == kernel.get("rx_ccid") == str(value) else [words]
    return judge


def slow_reader(seen):
    """The kernel's rate under our reports of a reader that stands still, and its answer to a Data Dropped."""
    slow = len(seen.packets.said(False, wire.SLOW_RECEIVER))
    rates = [float(one["x"]) / 1e3 for one in seen.kernels("tx")]
    ignored = sum(f"option {wire.DATA_DROPPED}(" in line and "ignoring" in line for line in seen.lines)
    lost = seen.end().get("dropped_by_reader_packets")
    words = f"{slow} acknowledgements with Slow Receiver; kernel's X {max(rates or [0]):.0f} kB/s, then "
    words += f"{min(rates[4:] or [0]):.0f}; {lost} datagrams not taken; Data Dropped ignored "
    words += "aloud" if ignored else "in silence"
    good = slow and ignored and 0 < min(rates[4:] or [0]) < max(rates) / 10
    return words, [] if good else [words]


def data_dropped(seen):
    """Data Dropped that the path puts into three acknowledgements of the kernel's."""
    told = sum(r.get("dropped_by_reader_packets") or 0 for r in seen.records if r.get("type") == "interval")
    return f"{told} datagrams counted as dropped for 3 options", [] if told == 3 else [f"{told} counted as dropped"]


def unread(seen):
    """A kernel's program that reads nothing for 3 s: what the buffer does not take is lost, without a word about it."""
    said = len(seen.packets.said(True, wire.DATA_DROPPED)) + len(seen.packets.said(True, wire.SLOW_RECEIVER))
    words = f"{said} options about it; what does not fit into the buffer counts as lost, 1/p to "
    lost = float(seen.kernel("rx").get("p", 0))
    words += f"{1 / lost:.0f}" if lost else "none"
    return words, [] if lost and not said else [words]


def optimism(seen):
    """The counts of acknowledgements that claim too much."""
    end, rates = seen.end(), [float(one["x"]) / 1e3 for one in seen.kernels("tx")]
    syncs = seen.packets.types[wire.SYNC]
    if rates:
        return f"{syncs} Syncs, kernel's X {min(rates):.0f} to {max(rates):.0f} kB/s", []
    cut, refused = end.get("corrected_feedback"), end.get("refused_feedback")
    return f"{cut} reports of the kernel's cut down, {refused} refused, {syncs} Syncs", []


LOSS = ["--loss", "0.02"]
SCRIPTED = ["--drop", *map(str, DROPS)]
AFTER = ["--put", "ours:3:10-10:2005050004"]
"""Change L (Ack Ratio, 4) in our tenth acknowledgement."""
ESTIMATES = ["--put", "ours:2:1-100000:8004d6d8"]
"""An RTT Estimate of 55 ms in each Data packet of ours."""
DROPPED, REFUSED = ([word for n in (30, 40, 50) for word in ("--put", f"{end}:3:{n}-{n}:2803a0")]
                    for end in ("guest", "ours"))
"""Data Dropped, receive buffer, about the packet that is acknowledged: in three acknowledgements of an end."""
MUCH = ["--put", "guest:3:40-1000:c20600ffffff"]
"""A Receive Rate of 16.8 Mbyte/s behind the kernel's own."""
CASES = {
    "kernel calls, sends": Case("kernel", "kernel"),
    "kernel calls, takes": Case("kernel", "ours"),
    "ours calls, sends": Case("ours", "ours"),
    "ours calls, takes": Case("ours", "kernel"),
    "kernel sends, 2 % lost": Case("kernel", "kernel", path=LOSS, pps=FAST, secs=12),
    "ours sends, 2 % lost": Case("ours", "ours", path=LOSS, pps=FAST, secs=12),
    "kernel sends, drops": Case("kernel", "kernel", path=SCRIPTED, secs=9),
    "ours sends, drops": Case("ours", "ours", path=SCRIPTED, secs=9),
    "kernel sends, pauses": Case("kernel", "kernel", ["pause=2,2.5"], secs=8, steady=False),
    "ours sends, pauses": Case("ours", "ours", feed=(2.0, 2.5)),
    "kernel ends what ours sends": Case("ours", "ours", ["stay=3"]),
    "ours ends what kernel sends": Case("kernel", "kernel", secs=20, stop=6.0),
    "kernel covers the header alone": Case("kernel", "kernel", ["cover=1"]),
    "kernel wants CCID 2 or 3": Case("kernel", "kernel", ["ccid=2,3"]),
    "kernel wants CCID 3 or 2": Case("ours", "ours", ["ccid=3,2"]),
    "kernel calls with CCID 2 alone": Case("kernel", "kernel", ["ccid=2"], refused="CCID 2"),
    "ours calls one with CCID 2 alone": Case("ours", "ours", ["ccid=2"], refused="CCID"),
    "two listeners, two senders": Case("kernel", "kernel", second=True),
    "ours calls, sends, IPv6": Case("ours", "ours", six=True),
    "kernel calls, sends, IPv6": Case("kernel", "kernel", six=True),
    "kernel wants CCID 2 or 3, takes": Case("kernel", "ours", ["ccid=2,3"], judge=ccids(3)),
    "ours calls one with CCID 2 or 3": Case("ours", "kernel", ["ccid=2,3"], judge=ccids(3)),
    "ours wants CCID 4 or 3": Case("ours", "ours", ours=["--variant", "tfrc-sp"], judge=ccids(3)),
    "Ack Ratio": Case("kernel", "kernel", path=AFTER, judge=ack_ratio),
    "RFC 6323, ours calls": Case("ours", "ours", path=ESTIMATES, judge=no_estimates),
    "RFC 6323, kernel calls": Case("kernel", "kernel", judge=no_estimates),
    "Data Dropped of ours": Case("kernel", "kernel", ["size=1300"], path=REFUSED, pps=FAST, secs=9, steady=False,
                                 slow=True, judge=slow_reader),
    "Data Dropped of the kernel": Case("ours", "ours", path=DROPPED, slow=True, judge=data_dropped),
    "kernel's program does not read": Case("ours", "ours", ["pause=1,3"], steady=False, slow=True, judge=unread),
    "kernel acknowledges 2 early": Case("ours", "ours", path=["--early", "guest:10:2"], steady=False, lies=True,
                                        judge=optimism),
    "kernel acknowledges the unsent": Case("ours", "ours", path=["--early", "guest:40:50"], steady=False, lies=True,
                                           judge=optimism),
    "kernel reports what was not sent": Case("ours", "ours", path=MUCH, steady=False, lies=True, judge=optimism),
    "ours acknowledges 2 early": Case("kernel", "kernel", path=["--early", "ours:10:2"], steady=False, judge=optimism),
}
