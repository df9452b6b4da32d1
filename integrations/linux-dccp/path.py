#!/usr/bin/env python3
"""A path of Ethernet frames between two interfaces: the same delay both ways, losses and scripted drops of packets with
data, and changes to packets of DCCP. The first interface is the guest's. It prints "ready", and at the end (SIGTERM),
when nothing is on its way any more, as JSON how many packets with data went each way and which it dropped, counted
from 1."""

import argparse
import heapq
import json
import random
import select
import signal
import socket
import struct
import time

import wire

WITH_DATA = (wire.DATA, wire.DATA_ACK)
WAYS = {"guest": 0, "ours": 1}
"""The ends that packets come from."""


def put(words):
    """END:TYPE:FROM-TO:OPTION, packets counted from 1 for each end and type, the option in hexadecimal."""
    end, kind, numbers, option = words.split(":")
    first, last = map(int, numbers.split("-"))
    return WAYS[end], int(kind), first, last, bytes.fromhex(option)


def early(words):
    """END:FROM:BY, acknowledgements (type 3) counted from 1."""
    end, first, by = words.split(":")
    return WAYS[end], int(first), int(by)


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("interfaces", nargs=2)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds, each way")
    parser.add_argument("--loss", type=float, default=0.0, help="of packets with data, both ways")
    parser.add_argument("--drop", type=int, nargs="*", default=[], help="of the packets with data, each way")
    parser.add_argument("--put", type=put, action="append", default=[], help=put.__doc__)
    parser.add_argument("--early", type=early, help="a higher Acknowledgement Number. " + early.__doc__)
    parser.add_argument("--capture", help="write what the second interface sends and gets into this file")
    parser.add_argument("--seed", type=int, default=1)
    return parser


class Path:
    """Decides on each frame: lost, changed, or passed on; and counts them."""

    def __init__(self, asked):
        self.asked, self.chance = asked, random.Random(asked.seed)
        self.data, self.dropped, self.counts = [0, 0], [[], []], {}

    def take(self, way, frame):
        """The frame that leaves the path; None for a lost one."""
        packet = wire.Packet(frame)
        kind = packet.kind()
        n = self.counts[way, kind] = self.counts.get((way, kind), 0) + 1
        if kind in WITH_DATA:
            self.data[way] += 1
            if self.data[way] in self.asked.drop or self.chance.random() < self.asked.loss:
                self.dropped[way].append(self.data[way])
                return None
        for end, chosen, first, last, option in self.asked.put:
            if (end, chosen) == (way, kind) and first <= n <= last:
                packet = wire.Packet(packet.with_option(option))
        end, first, by = self.asked.early or (None, 0, 0)
        if (end, wire.ACK) == (way, kind) and first <= n:
            packet = wire.Packet(packet.with_later_ack(by))
        return packet.frame


def main():
    asked = options().parse_args()
    ends = []
    for name in asked.interfaces:
        end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        end.bind((name, 0))
        end.setblocking(False)
        ends.append(end)
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
    capture = open(asked.capture or "/dev/null", "wb")
    capture.write(wire.CAPTURE)

    def record(frame):
        seconds, micros = divmod(time.time_ns() // 1000, 1_000_000)
        capture.write(struct.pack("<IIII", seconds, micros, len(frame), len(frame)) + frame)

    path, order, waiting = Path(asked), 0, []
    print("ready", flush=True)
    while not ended or waiting:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, to, frame = heapq.heappop(waiting)
            if to == 1:
                record(frame)
            try:
                ends[to].send(frame)
            except OSError:
                pass
        wait = waiting[0][0] - now if waiting else 0.2
        readable, _, _ = select.select(ends, [], [], max(0.0, min(wait, 0.2)))
        for end in readable:
            while True:
                try:
                    frame, (_, _, kind, *_) = end.recvfrom(65535)
                except OSError:
                    break
                if kind == socket.PACKET_OUTGOING:
                    continue
                way = ends.index(end)
                if way == 1:
                    record(frame)
                frame = path.take(way, frame)
                if frame is not None:
                    order += 1
                    heapq.heappush(waiting, (time.monotonic() + asked.delay, order, 1 - way, frame))
    capture.close()
    print(json.dumps({"data": path.data, "dropped": path.dropped}), flush=True)


if __name__ == "__main__":
    main()
