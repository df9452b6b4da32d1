"""That the suite begins: its options and cases parse, its program for the guest compiles, and what it counts with is
right. No guest is started."""

import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

import cases
import guest
import path
import suite
import wire
from lines import Lines

FOUR, SIX = bytes([10, 33, 0, 1, 10, 33, 0, 2]), bytes(range(32))
"""Addresses of the two ends, one behind the other."""


def frame(kind, rest=b"", offset=0, addresses=FOUR):
    """An Ethernet frame with a DCCP packet of this type and with no checksum, `offset` words long without its data."""
    dccp = struct.pack("!HHBBHBBH", 5001, 6511, offset, 0, 0, kind << 1 | 1, 0, 0) + rest
    if len(addresses) == 8:
        ip = struct.pack("!BBHIBBH", 0x45, 0, 20 + len(dccp), 0, 64, 33, 0) + addresses
        return bytes(12) + b"\x08\x00" + ip + dccp
    return bytes(12) + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, len(dccp), 33, 64) + addresses + dccp


def sums(packet):
    """The sums over a packet with its checksums: all ones each if they are right."""
    dccp = packet.addresses + struct.pack("!II", len(packet.dccp), 33) + packet.dccp
    return [wire.total(dccp)] + ([wire.total(packet.frame[14:34])] if packet.at == 34 else [])


class Suite(unittest.TestCase):
    @unittest.skipUnless(shutil.which("gcc"), "no C compiler")
    def test_the_program_of_the_guest_compiles(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "peer"
            guest.compile_peer(program)
            self.assertGreater(program.stat().st_size, 1000)

    def test_the_options_know_each_case(self):
        for name, case in cases.CASES.items():
            asked = suite.options().parse_args(["--case", name, "--load", "3"])
            self.assertEqual((asked.case, asked.load), ([name], 3.0))
            words = dict(word.split("=") for word in reversed(case.words()))
            self.assertEqual("addr" in words, case.caller == "kernel")
            self.assertEqual(case.command("tfrc", "out")[1], "recv" if case.sender == "kernel" else "send")
            self.assertLess(len(" ".join(f"peer.{word}" for word in case.words())), 200, "the kernel's command line")
            path.options().parse_args(["a", "b", *case.path])

    def test_the_newest_kernel_of_the_series(self):
        names = "linux-image-6.1.0-9-cloud-amd64\nlinux-image-6.1.0-56-cloud-amd64\nlinux-image-6.1.0-60-amd64\n"
        self.assertEqual(guest.newest(names), "linux-image-6.1.0-56-cloud-amd64")
        with self.assertRaises(guest.NotHere):
            guest.newest("linux-image-6.12.0-1-cloud-amd64\n")

    def test_packets_are_counted_by_type_and_end(self):
        packets = [frame(wire.DATA, bytes(4)), frame(wire.RESET, bytes(12) + bytes([wire.CLOSED, 0, 0, 0]), 7),
                   frame(wire.ACK, bytes(12) + bytes([0, 40, 3, 0xA0, 2, 32, 4, 5]), 8, SIX),
                   frame(wire.ACK, bytes(12) + bytes([32, 5, 5, 0, 4, 38, 0, 0]), 8), bytes(60)]
        capture = wire.CAPTURE + b"".join(bytes(8) + struct.pack("<II", len(p), len(p)) + p for p in packets)
        count = wire.Count(capture, bytes(6))
        self.assertEqual(dict(count.types), {wire.DATA: 1, wire.RESET: 1, wire.ACK: 2})
        self.assertEqual(dict(count.resets), {wire.CLOSED: 1})
        self.assertEqual(count.options[True], [(wire.ACK, 40, b"\xa0"), (wire.ACK, 2, b""), (wire.ACK, 32, b"\5\0\4")])
        self.assertEqual(count.said(True, wire.CHANGE_L, wire.ACK_RATIO), [b"\0\4"])
        self.assertEqual(count.said(False, wire.CHANGE_L), [])

    def test_the_path_changes_packets_and_their_checksums(self):
        for addresses in (FOUR, SIX):
            asked = ["a", "b", "--put", "guest:3:2-2:2803a0", "--early", "guest:3:2", "--drop", "1"]
            way = path.Path(path.options().parse_args(asked))
            ack = frame(wire.ACK, bytes(6) + b"\xff\xff" + bytes(2) + b"\xff\xff" + b"odd", 6, addresses)
            self.assertEqual([way.take(0, ack), way.take(1, ack)], [ack, ack])
            changed, later = wire.Packet(way.take(0, ack)), wire.Packet(way.take(0, ack))
            self.assertEqual((changed.options(), later.options()), ([(wire.DATA_DROPPED, b"\xa0")], []))
            self.assertEqual([changed.dccp[18:24], later.dccp[18:24]], [ack[-9:-3], b"\xff\xff\0\1\0\1"])
            self.assertEqual([changed.dccp[-3:], later.dccp[-3:]], [b"odd", b"odd"])
            self.assertEqual({*sums(changed), *sums(later)}, {0xFFFF})
            self.assertIsNone(way.take(0, frame(wire.DATA, bytes(8), 4, addresses)))
            self.assertEqual((way.data, way.dropped), ([1, 0], [[1], []]))

    def test_a_line_is_waited_for(self):
        process = suite.start(["sh", "-c", "echo one; echo two; exec sleep 60"], stdout=subprocess.PIPE)
        said = Lines(process.stdout)
        self.assertEqual((said.wait_for("^t", 30), said.wait_for("three", 0.0)), ("two", None))
        process.kill()
        self.assertEqual((said.wait_for("three", 30), said.whole(), process.wait()), (None, "one\ntwo", -9))

    def test_the_bytes_of_the_guest(self):
        self.assertEqual(wire.numbered(3, 6, {2}), b"\0\0\0\1ZZ\0\0\0\3ZZ")


if __name__ == "__main__":
    unittest.main()
