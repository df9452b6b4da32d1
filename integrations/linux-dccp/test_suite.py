"""That the suite begins: its options and cases parse, its program for the guest compiles, and what it counts with is
right. No guest is started."""

import shutil
import struct
import tempfile
import unittest
from pathlib import Path

import guest
import path
import suite
import wire


def frame(kind, rest=b""):
    """An Ethernet frame with a DCCP packet of this type."""
    dccp = struct.pack("!HHBBHBBH", 5001, 6511, 7, 0, 0, kind << 1 | 1, 0, 0) + rest
    ip = bytes([0x45]) + bytes(8) + bytes([33]) + bytes(10)
    return bytes(12) + b"\x08\x00" + ip + dccp


class Suite(unittest.TestCase):
    @unittest.skipUnless(shutil.which("gcc"), "no C compiler")
    def test_the_program_of_the_guest_compiles(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "peer"
            guest.compile_peer(program)
            self.assertGreater(program.stat().st_size, 1000)

    def test_the_options_know_each_case(self):
        for name, case in suite.CASES.items():
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

    def test_packets_are_counted_by_type(self):
        self.assertEqual([path.type_of(frame(2)), path.type_of(frame(4)), path.type_of(bytes(60))], [2, 4, None])
        packets = [frame(2, bytes(8)), frame(wire.RESET, bytes(12) + bytes([wire.CLOSED, 0, 0, 0]))]
        capture = bytes(24) + b"".join(bytes(8) + struct.pack("<II", len(p), len(p)) + p for p in packets)
        count = wire.Count(capture)
        self.assertEqual((dict(count.types), dict(count.resets)), ({2: 1, wire.RESET: 1}, {wire.CLOSED: 1}))

    def test_the_bytes_of_the_guest(self):
        self.assertEqual(wire.numbered(3, 6, {2}), b"\0\0\0\1ZZ\0\0\0\3ZZ")


if __name__ == "__main__":
    unittest.main()
