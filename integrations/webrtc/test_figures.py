"""The figures of a capture made by hand: `python3 -m unittest discover integrations/webrtc`."""

import csv
import struct
import tempfile
import unittest
from pathlib import Path

import calls
import figures

HERE = Path(__file__).resolve().parent


def packet(protocol: int, port: int, ssrc: int, number: int, size: int, ecn: int = 0, kind: int = 96) -> bytes:
    """An IPv4 packet of this size, cut behind the head of RTP."""
    ip = struct.pack(">BBHHHBBHII", 0x45, ecn, size, 0, 0, 64, protocol, 0, 1, 2)
    return ip + struct.pack(">HHHH", port, 9, size - 20, 0) + struct.pack(">BBHII", 0x80, kind, number, 0, ssrc)


def capture(path: Path, packets) -> None:
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101))
        for at, octets, size in packets:
            out.write(struct.pack("<IIII", int(at), round(at % 1 * 1e9), len(octets), size) + octets)


class Figures(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())

    def of(self, case: calls.Case, packets) -> dict:
        capture(self.folder / "path.pcap", packets)
        return figures.network(case, self.folder, 10.0)

    def test_shares_waits_and_losses(self) -> None:
        # 1 Mbit/s: 1250 bytes take 10 ms. Two packets of media at once, one of a TCP, and of the numbers 65535 to 2
        # one is missing; RTCP is no media.
        case = calls.Case([(0, 1)], [0], 37_500, 1, [(0, [1])], (0, 1), tcp=True)
        found = self.of(case, [
            (10.0, packet(17, 5000, 7, 65535, 1250, ecn=1), 1250),
            (10.0, packet(17, 5000, 7, 0, 1250, ecn=1), 1250),
            (10.1, packet(17, 5000, 7, 2, 1250, ecn=1), 1250),
            (10.2, packet(17, 5000, 7, 2, 100, kind=205), 100),
            (10.3, packet(6, 5000, 0, 0, 1250), 1250),
        ])  # fmt: skip
        self.assertEqual((found["packets"], found["lost"], found["share"], found["ecn"]), (4, 0.25, 0.75, "1"))
        self.assertEqual((found["wait_p50_ms"], found["wait_p95_ms"]), (10.0, 20.0))
        self.assertEqual((found["rate_mbit"], found["of_capacity"]), (0.03, 0.03))

    def test_bits_that_are_left_go_at_the_new_rate(self) -> None:
        # 1250 bytes at 0.1 Mbit/s, of which half has gone when the rate becomes 1 Mbit/s: 50 and 5 ms.
        rates = [(0.0, 1e5), (10.05, 1e6)]
        capture(self.folder / "path.pcap", [(10.0, packet(17, 5000, 7, 1, 1250), 1250)])
        [only] = figures.packets(self.folder / "path.pcap", rates)
        self.assertAlmostEqual(only.left - only.joined, 0.055)

    def test_two_flows_share_equally(self) -> None:
        case = calls.Case([(0, 1)], [0, 0], 37_500, 1, [(0, [0.5, 0.5])], (0, 1))
        found = self.of(case, [(10.0 + n / 10, packet(17, 5000 + n % 2, n % 2, n, 1000), 1000) for n in range(8)])
        self.assertEqual(found["share"], 1.0)

    def test_the_recording_is_of_the_cases_and_counts_what_is_valid(self) -> None:
        rows = list(csv.DictReader((HERE / "runs.csv").read_text().splitlines()))
        self.assertLessEqual({row["case"] for row in rows}, set(calls.CASES))
        self.assertLessEqual({row["control"] for row in rows}, {*calls.CONTROLS, *calls.ELEMENTS})
        for row in rows:
            fed = calls.fed(row["control"], float(row["pictures_s"]), row["limits"])
            self.assertEqual(row["valid"] == "yes", row["starved"] == "" and fed, row)
            # Only the trial marks its packets.
            self.assertEqual(row["ecn"], "1" if row["control"] == "ScreamV2" else "0", row)
        for case in ("variable-one", "tcp"):
            for control in calls.CONTROLS:
                valid = [row for row in rows if (row["case"], row["control"], row["valid"]) == (case, control, "yes")]
                self.assertGreaterEqual(len(valid), 5, (case, control))


if __name__ == "__main__":
    unittest.main()
