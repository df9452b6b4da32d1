"""The judgement of a run to a browser, on statistics made by hand: `python3 -m unittest discover integrations/gst/examples`."""

import json
import tempfile
import unittest
from pathlib import Path

import halving

GOOD = {"rate_before_bps": 1.6e6, "rate_after_bps": 0.8e6, "packets_received": 5000, "frames_decoded": 700, "lost": 0.01}


class Judgement(unittest.TestCase):
    def test_the_last_statistics_count(self):
        lines = [{"flows": []}, {"flows": [{}]}]
        for received, decoded in [(10, 1), (990, 500)]:
            stream = {"packetsReceived": received, "packetsLost": received // 99, "framesDecoded": decoded,
                      "jitterBufferDelay": 25.0, "jitterBufferEmittedCount": decoded}
            lines.append({"flows": [{"inbound-rtp": stream}]})
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "receive.jsonl"
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
            found = halving.watched(path)
        self.assertEqual((found["packets_received"], found["packets_lost"], found["lost"]), (990, 10, 0.01))
        self.assertEqual((found["frames_decoded"], found["jitter_buffer_ms"], found["freezes"]), (500, 50, 0))

    def test_each_fault_is_named(self):
        self.assertEqual(halving.fault(GOOD), "")
        for change, said in [
            ({"packets_received": 0}, "no packet"), ({"frames_decoded": 249}, "249 pictures"),
            ({"rate_before_bps": 0.7e6}, "before the path"), ({"rate_before_bps": 2.1e6}, "before the path"),
            ({"rate_after_bps": 1.1e6}, "after it"), ({"rate_after_bps": 0.3e6}, "after it"), ({"lost": 0.06}, "6.0 %"),
        ]:
            with self.subTest(change):
                self.assertIn(said, halving.fault(GOOD | change))

    def test_a_rate_is_of_a_second_and_of_the_time_after(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sender.jsonl"
            path.write_text("".join(
                json.dumps({"at": 100 + n / 25, "bytes": 8000 if n < 250 else 4000}) + "\n" for n in range(500)))
            found = halving.followed(path, 110.0)
        self.assertAlmostEqual(found["rate_before_bps"], 1.6e6, delta=1e4)
        self.assertAlmostEqual(found["rate_after_bps"], 0.8e6, delta=1e4)


if __name__ == "__main__":
    unittest.main()
