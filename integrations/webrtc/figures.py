"""Figures of a run: from the capture of the packets that joined the bottleneck's queue, and from the browsers' words.

The capture has the engine's times, so that when a packet left follows from the rate of the line; with these the figures
are those of docs/media.md, which the simulated controls have (integrations/bench, measures.rs).
"""

import json
import struct
from dataclasses import dataclass
from pathlib import Path

STAYS, WINDOW, NEAR = 5.0, 2.0, 0.25
"""Times to a new rate: within a quarter of the part, in the mean over 2 s, for 5 s."""


@dataclass
class Packet:
    joined: float
    left: float
    bytes: int
    flow: int | None
    """The sender's UDP port as the flow's place; None for a TCP."""
    key: tuple[int, int] | None
    """SSRC and sequence number of media."""
    ecn: int


def capture(path: Path):
    """Time, octets and length of every packet of a capture file."""
    octets = path.read_bytes()
    order = "<" if octets[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    fraction = 1e9 if struct.unpack(order + "I", octets[:4])[0] == 0xA1B23C4D else 1e6
    at = 24
    while at + 16 <= len(octets):
        seconds, part, kept, length = struct.unpack_from(order + "IIII", octets, at)
        yield seconds + part / fraction, octets[at + 16 : at + 16 + kept], length
        at += 16 + kept


def packets(path: Path, rates: list[tuple[float, float]]) -> list[Packet]:
    """The packets of TCP and of media, with the times at which a line of these rates has sent them."""
    flows: dict[int, int] = {}
    free, seen = 0.0, []
    for joined, octets, length in capture(path):
        free = max(joined, free)
        bits = length * 8
        # What is left when the rate changes goes on at the new rate.
        for n, (_, rate) in enumerate(rates):
            until = rates[n + 1][0] if n + 1 < len(rates) else float("inf")
            if free < until:
                done = min(bits, rate * (until - free))
                free, bits = free + done / rate, bits - done
                if bits <= 0:
                    break
        head = (octets[0] & 15) * 4
        protocol, key, flow = octets[9], None, None
        if protocol == 17:
            media = octets[head + 8 :]
            # RFC 7983: 128 to 191 is RTP or RTCP; RFC 5761: payload types of 64 to 95 are RTCP.
            if len(media) < 12 or not 128 <= media[0] < 192 or 192 <= media[1] <= 223:
                continue
            port = struct.unpack_from(">H", octets, head)[0]
            flow = flows.setdefault(port, len(flows))
            key = (struct.unpack_from(">I", media, 8)[0], struct.unpack_from(">H", media, 2)[0])
        elif protocol != 6:
            continue
        seen.append(Packet(joined, free, length, flow, key, octets[1] & 3))
    return seen


def lost(media: list[Packet]) -> tuple[int, int]:
    """Packets of media that did not get into the queue, by gaps of sequence numbers, and all there were."""
    streams: dict[tuple[int | None, int], list[int]] = {}
    for packet in media:
        ssrc, number = packet.key
        numbers = streams.setdefault((packet.flow, ssrc), [])
        last = numbers[-1] if numbers else number
        numbers.append(last + (number - last + 0x8000) % 0x10000 - 0x8000)
    everything = sum(max(numbers) - min(numbers) + 1 for numbers in streams.values())
    return everything - sum(len(set(numbers)) for numbers in streams.values()), everything


def quantile(sample: list[float], share: float) -> float:
    ordered = sorted(sample)
    return ordered[round((len(ordered) - 1) * share)] if ordered else float("nan")


def bits(packets: list[Packet], begin: float, end: float) -> float:
    return sum(packet.bytes * 8 for packet in packets if begin <= packet.left < end)


def times(case, media: list[list[Packet]], zero: float) -> tuple[list[float], int]:
    """The times that flows needed for each new rate, of those that found it, and how many there were."""
    found, wanted = [], 0
    for n, (begin, parts) in enumerate(case.phases):
        end = case.phases[n + 1][0] if n + 1 < len(case.phases) else case.seconds
        for flow, part in zip(media, parts, strict=False):
            if part == 0:
                continue
            wanted += 1
            goal, since, at = part * case.rate_at(begin) * 1e6, None, begin + WINDOW
            while at <= end:
                mean = bits(flow, zero + at - WINDOW, zero + at) / WINDOW
                since = (since if since is not None else at) if abs(mean / goal - 1) <= NEAR else None
                if since is not None and at - since >= STAYS:
                    found.append(round(since - begin, 1))
                    break
                at += 0.1
    return found, wanted


def network(case, folder: Path, zero: float) -> dict:
    """Figures of the capture. `zero` is the emulator's time at which the case begins, in seconds."""
    rates = [(0.0, case.rates[0][1] * 1e6)] + [(zero + at, mbit * 1e6) for at, mbit in case.rates[1:]]
    end = zero + case.seconds
    seen = [packet for packet in packets(folder / "path.pcap", rates) if packet.joined < end]
    tcp = [packet for packet in seen if packet.flow is None]
    media = [[packet for packet in seen if packet.flow == n] for n in range(len(case.flows))]
    everything = [packet for flow in media for packet in flow]
    waits = [(packet.left - packet.joined) * 1e3 for packet in everything]
    gone, number = lost(everything)
    capacity = sum(case.rate_at(second) * 1e6 for second in range(case.seconds))
    first, last = (zero + at for at in case.shared)
    parts = [bits(flow, first, last) for flow in media]
    share = None
    if case.tcp:
        share = sum(parts) / (sum(parts) + bits(tcp, first, last))
    elif len(parts) > 1:
        share = sum(parts) ** 2 / (len(parts) * sum(part * part for part in parts))
    found, wanted = times(case, media, zero)
    carried = bits(everything, zero, end)
    return {
        "rate_mbit": round(carried / case.seconds / 1e6, 3),
        "of_capacity": round(carried / capacity, 3),
        "wait_p50_ms": round(quantile(waits, 0.5), 1),
        "wait_p95_ms": round(quantile(waits, 0.95), 1),
        "lost": round(gone / max(1, number), 4),
        "share": None if share is None else round(share, 3),
        "times_s": " ".join(map(str, found)),
        "times_wanted": wanted,
        "ecn": " ".join(str(mark) for mark in sorted({packet.ecn for packet in everything})),
        "packets": number,
    }


def encoder(case, folder: Path) -> dict:
    """Figures of the sending browser: pictures a second of its source, why it limited itself, bytes over the target."""
    words = [json.loads(line) for line in (folder / "send.jsonl").read_text().splitlines()]
    pictures, limits, made, asked = [], set(), 0.0, 0.0
    for flow in range(len(case.flows)):
        known = [(word["now"], word["flows"][flow]) for word in words if len(word["flows"]) > flow]
        # A source counts from the connection on.
        counted = [(now, part["media-source"].get("frames")) for now, part in known if "media-source" in part]
        counted = [(now, frames) for now, frames in counted if frames]
        if len(counted) > 1 and not (case.pause and flow == 0):
            (begin, before), (end, after) = counted[0], counted[-1]
            pictures.append((after - before) / ((end - begin) / 1e3))
        sent = [part["outbound-rtp"] for _, part in known if "outbound-rtp" in part]
        limits |= {part.get("qualityLimitationReason", "none") for part in sent}
        for a, b in zip(sent, sent[1:], strict=False):
            seconds = (b["timestamp"] - a["timestamp"]) / 1e3
            if seconds > 0 and a.get("targetBitrate"):
                again = b.get("retransmittedBytesSent", 0) - a.get("retransmittedBytesSent", 0)
                made += (b["bytesSent"] - a["bytesSent"] - again) * 8
                asked += a["targetBitrate"] * seconds
    return {
        "pictures_s": round(min(pictures, default=0.0), 1),
        "limits": " ".join(sorted(limits)),
        "made_of_target": round(made / asked, 2) if asked else None,
    }


def gstreamer(case, folder: Path) -> dict:
    """The figures of `encoder`, of a sender of integrations/gst/examples."""
    lines = [json.loads(line) for line in (folder / "sender.jsonl").read_text().splitlines()]
    pictures = [(line["at"], 8 * line["bytes"]) for line in lines if "bytes" in line]
    targets = [(line["at"], line["bitrate"]) for line in lines if "bitrate" in line]
    begin, end = pictures[0][0], pictures[-1][0]
    asked = sum(rate * (b - a) for (a, rate), (b, _) in zip(targets, [*targets[1:], (end, 0)], strict=True))
    made = sum(size for at, size in pictures if at >= targets[0][0]) if targets else 0
    return {
        "pictures_s": round((len(pictures) - 1) / (end - begin), 1),
        "limits": "none",
        "made_of_target": round(made / asked, 2) if targets else None,
    }
