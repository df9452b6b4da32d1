#!/usr/bin/env python3
"""A path of Ethernet frames between two interfaces: the same delay both ways, losses and scripted drops from the first
to the second, losses alone from the second to the first. Loses packets of protocol 33 alone. At the end (SIGTERM) it
prints as JSON how many packets with data went each way and which it dropped, counted from 1."""

import argparse
import heapq
import json
import random
import select
import signal
import socket
import time

DATA = (2, 4)
"""DCCP's types Data and DataAck."""


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("interfaces", nargs=2)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds, each way")
    parser.add_argument("--loss", type=float, default=0.0, help="of packets with data, both ways")
    parser.add_argument("--drop", type=int, nargs="*", default=[], help="of the packets with data, each way")
    parser.add_argument("--seed", type=int, default=1)
    return parser


def type_of(frame):
    """The type of a DCCP packet in a frame; None for others."""
    if len(frame) < 46 or frame[12:14] != b"\x08\x00" or frame[23] != 33:
        return None
    return frame[14 + 4 * (frame[14] & 15) + 8] >> 1 & 15


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
    chance, order, waiting = random.Random(asked.seed), 0, []
    data, dropped = [0, 0], [[], []]
    while not ended:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, to, frame = heapq.heappop(waiting)
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
                if type_of(frame) in DATA:
                    data[way] += 1
                    if data[way] in asked.drop or chance.random() < asked.loss:
                        dropped[way].append(data[way])
                        continue
                order += 1
                heapq.heappush(waiting, (time.monotonic() + asked.delay, order, 1 - way, frame))
    print(json.dumps({"data": data, "dropped": dropped}), flush=True)


if __name__ == "__main__":
    main()
