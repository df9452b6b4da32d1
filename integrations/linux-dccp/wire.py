"""The DCCP packets of a capture as far as the suite counts and changes them, and the bytes that the guest's program
sends."""

import struct
from collections import Counter

REQUEST, RESPONSE, DATA, ACK, DATA_ACK, RESET, SYNC = 0, 1, 2, 3, 4, 7, 8
CLOSED, NO_CONNECTION, OPTION_ERROR, MANDATORY_ERROR = 1, 3, 5, 6
"""Codes of a Reset (RFC 4340 §5.6)."""
SLOW_RECEIVER, CHANGE_L, CONFIRM_L, CHANGE_R, CONFIRM_R, DATA_DROPPED = 2, 32, 33, 34, 35, 40
RTT_ESTIMATE, LOSS_EVENT_RATE, RECEIVE_RATE = 128, 192, 194
"""Types of options (RFC 4340 §5.8, RFC 6323 §3.2, RFC 4342 §8); the RTT Estimate's is its feature's number too."""
CCID, ACK_RATIO = 1, 5
"""Numbers of features (RFC 4340 §6.4)."""
FIXED = {REQUEST: 4, RESPONSE: 12, DATA: 0, RESET: 12}
"""Bytes between the generic header and the options (RFC 4340 §5.1); of the types that are not here 8."""
CAPTURE = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
"""The head of a capture of Ethernet frames."""


def total(data):
    """The sum of RFC 1071, before it is inverted."""
    data += bytes(len(data) % 2)
    number = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while number > 0xFFFF:
        number = (number & 0xFFFF) + (number >> 16)
    return number


class Packet:
    """A DCCP packet with long sequence numbers in an Ethernet frame; `dccp` is empty for all other frames."""

    def __init__(self, frame):
        self.frame, self.dccp = frame, b""
        if frame[12:14] == b"\x08\x00" and len(frame) > 34 and frame[23] == 33:
            self.at, self.addresses = 14 + 4 * (frame[14] & 15), frame[26:34]
            end = 14 + int.from_bytes(frame[16:18], "big")
        elif frame[12:14] == b"\x86\xdd" and len(frame) > 54 and frame[20] == 33:
            self.at, self.addresses = 54, frame[22:54]
            end = 54 + int.from_bytes(frame[18:20], "big")
        else:
            return
        if end - self.at >= 16 and len(frame) >= end and frame[self.at + 8] & 1:
            self.dccp = frame[self.at:end]

    def kind(self):
        return self.dccp[8] >> 1 & 15 if self.dccp else None

    def options(self):
        """Type and data of each option; Mandatory is one of them, padding none."""
        at, found = 16 + FIXED.get(self.kind(), 8), []
        space = self.dccp[at:4 * self.dccp[4]]
        while space:
            length = 1 if space[0] < 32 else space[1] if len(space) > 1 else 0
            if not 1 <= length <= len(space):
                break
            if space[0]:
                found.append((space[0], space[2:length]))
            space = space[length:]
        return found

    def with_option(self, option):
        """The frame with one more option."""
        option += bytes(-len(option) % 4)
        end = 4 * self.dccp[4]
        dccp = bytearray(self.dccp[:end] + option + self.dccp[end:])
        dccp[4] += len(option) // 4
        return self._framed(dccp)

    def with_later_ack(self, by):
        """The frame with an Acknowledgement Number that is higher by `by`."""
        dccp = bytearray(self.dccp)
        number = (int.from_bytes(dccp[18:24], "big") + by) % (1 << 48)
        dccp[18:24] = number.to_bytes(6, "big")
        return self._framed(dccp)

    def _framed(self, dccp):
        """A frame like this one around another packet, with its lengths and checksums."""
        part = dccp[5] & 15
        covered = len(dccp) if part == 0 else 4 * dccp[4] + 4 * (part - 1)
        dccp[6:8] = bytes(2)
        whole = self.addresses + struct.pack("!II", len(dccp), 33) + bytes(dccp[:covered])
        dccp[6:8] = struct.pack("!H", 0xFFFF - total(whole))
        head = bytearray(self.frame[:self.at])
        if self.at == 54:
            head[18:20] = struct.pack("!H", len(dccp))
        else:
            head[16:18] = struct.pack("!H", self.at - 14 + len(dccp))
            head[24:26] = bytes(2)
            head[24:26] = struct.pack("!H", 0xFFFF - total(bytes(head[14:])))
        return bytes(head + dccp)


class Count:
    """How many packets of each type a capture has, how many Resets of each code, and the options of each end: type of
    the packet, type of the option, data."""

    def __init__(self, capture, guest):
        self.types, self.resets, self.options = Counter(), Counter(), {True: [], False: []}
        at = len(CAPTURE)
        while at + 16 <= len(capture):
            (length,) = struct.unpack_from("<I", capture, at + 8)
            packet = Packet(capture[at + 16: at + 16 + length])
            at += 16 + length
            if not packet.dccp:
                continue
            kind = packet.kind()
            self.types[kind] += 1
            if kind == RESET:
                self.resets[packet.dccp[24]] += 1
            of_guest = packet.frame[6:12] == guest
            self.options[of_guest] += [(kind, *option) for option in packet.options()]

    def said(self, of_guest, option, feature=None):
        """The data of all options of a type that an end sent; with a feature, what follows its number."""
        found = [data for _, number, data in self.options[of_guest] if number == option]
        return found if feature is None else [data[1:] for data in found if data[:1] == bytes([feature])]

    def __str__(self):
        return f"packets by type {dict(self.types)}, Resets by code {dict(self.resets)}"


def numbered(count, size, without):
    """The datagrams of peer.c in order, without some of them."""
    body = b"\x5a" * (size - 4)
    return b"".join(n.to_bytes(4, "big") + body for n in range(1, count + 1) if n not in without)
