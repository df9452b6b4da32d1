"""The DCCP packets of a capture, as far as the suite counts them, and the bytes that the guest's program sends."""

import struct
from collections import Counter

RESET = 7
CLOSED, NO_CONNECTION, OPTION_ERROR, MANDATORY_ERROR = 1, 3, 5, 6
"""Codes of a Reset (RFC 4340 §5.6)."""


class Count:
    """How many packets of each type a capture has, and how many Resets of each code."""

    def __init__(self, capture):
        self.types, self.resets = Counter(), Counter()
        at = 24
        while at + 16 <= len(capture):
            (length,) = struct.unpack_from("<I", capture, at + 8)
            packet = capture[at + 16 + 14: at + 16 + length]
            at += 16 + length
            header = 4 * (packet[0] & 15) if packet else 0
            dccp = packet[header:]
            if len(dccp) < 12:
                continue
            kind = dccp[8] >> 1 & 15
            self.types[kind] += 1
            if kind == RESET and len(dccp) >= 28:
                self.resets[dccp[24]] += 1

    def __str__(self):
        return f"packets by type {dict(self.types)}, Resets by code {dict(self.resets)}"


def numbered(count, size, without):
    """The datagrams of peer.c in order, without some of them."""
    body = b"\x5a" * (size - 4)
    return b"".join(n.to_bytes(4, "big") + body for n in range(1, count + 1) if n not in without)
