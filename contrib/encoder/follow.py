"""The bitrate of an encoder that follows `tfrc send --rate-out`. `tfrc stream` has this file in it."""

import threading
import time


class Follower:
    """Makes a bitrate of the allowed rate: down at once, up by little each second.

    `lines` has the allowed rate in bit/s of data, a line for each change. The headroom is for the
    container (MPEG-TS adds 5 to 10 %), for pictures that are larger than the mean, and for the next
    fall of the rate. The rate of a sender with headroom grows far beyond the path's before a loss
    corrects it: `rise` keeps the encoder from running into that. `aside` is the part of the
    rate, in bit/s, that other data has, such as sound.
    """

    def __init__(self, lines, least, most, headroom=0.75, rise=1.1):
        self.least, self.most, self.aside = least, most, 0
        self.headroom, self.rise = headroom, rise
        self.allowed = None
        self.known = threading.Event()
        self.ended = threading.Event()
        self.last = None
        threading.Thread(target=self._read, args=[lines], daemon=True).start()

    def _read(self, lines):
        for line in lines:
            self.allowed = int(line)
            self.known.set()
        self.ended.set()
        self.known.set()

    def bitrate(self):
        """The bitrate for now, in bit/s. Waits for the first line; the least without one."""
        self.known.wait()
        now = time.monotonic()
        wanted = self.headroom * (self.allowed or 0) - self.aside
        if self.last is not None:
            then, before = self.last
            wanted = min(wanted, before * self.rise ** (now - then))
        wanted = max(self.least, min(self.most, wanted))
        self.last = now, wanted
        return int(wanted)


class Fixed:
    """A bitrate that follows nothing, for comparison."""

    def __init__(self, rate):
        self.rate = rate

    def bitrate(self):
        return self.rate


def encoding(parser):
    """Adds the arguments of any encoder here."""
    parser.add_argument("source", help="a video file, played in real time")
    parser.add_argument("--rate", help="FIFO or file with the lines of tfrc send --rate-out")
    parser.add_argument("--least", type=int, default=150_000, help="lowest bitrate, bit/s")
    parser.add_argument("--most", type=int, default=1_500_000, help="highest bitrate, bit/s")
    parser.add_argument("--width", type=int, default=640)
    parser.add_argument("--height", type=int, default=360)
    parser.add_argument("--fps", type=int, default=25)


def arguments(parser):
    """The arguments of the command line, and the bitrate they ask for."""
    encoding(parser)
    parser.add_argument("--fixed", type=int, help="bit/s, in place of --rate")
    given = parser.parse_args()
    if (given.rate is None) == (given.fixed is None):
        parser.error("give either --rate or --fixed")
    if given.fixed is not None:
        return given, Fixed(given.fixed)
    # Opening a FIFO waits for the sender.
    return given, Follower(open(given.rate), given.least, given.most)
