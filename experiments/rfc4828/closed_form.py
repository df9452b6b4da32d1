"""The closed forms of Tables 1 to 4 and 11."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from paper import RFC

from tfrc import Equation
from tfrc.lab import Experiment, number

# Bytes of the headers that a packet is taken to have, of the segment of the TCP that TFRC-SP is as fast as,
# and packets a second: TFRC-SP keeps 10 ms between them (§3).
HEADER, NOMINAL, MOST_PACKETS = 40, 1460, 100
closed_form = partial(Experiment, RFC, must_agree=True)


def equation(profile: str, packet: float, p: float) -> float:
    """The rate of packets of `packet` bytes at a round-trip time of 100 ms, kB/s. As published the constants
    are rounded to three digits, which gives every printed digit; otherwise it is the core's equation."""
    if profile == "rfc":
        return Equation().rate_bps(packet, 0.1, p) / 8000
    return packet / (0.1 * (0.816 * p**0.5 + 7.34 * p**1.5 * (1 + 32 * p**2))) / 1000


def tfrc_sp(profile: str, segment: float, p: float) -> float:
    """TFRC-SP's rate with headers, kB/s: that of a TCP with nominal segments, or the most packets allowed."""
    return min(equation(profile, NOMINAL + HEADER, p), MOST_PACKETS * (segment + HEADER) / 1000)


def packet_drop_rate(b: float, packet: float) -> float:
    """The chance that a packet of `packet` bytes is dropped where each byte is with probability `b`."""
    return -math.expm1(packet * math.log1p(-b))


def of_segments(table: Experiment, name: str, rate: Callable[[str, float, float], float]) -> None:
    """Makes a rate, a function of profile, segment and drop rate, the columns of three segments."""
    columns = {f"{name}_{segment}B_KBps": segment for segment in (14, 536, 1460)}

    @table.compute
    def values(profile: str, rows: Any, _: Any) -> dict[tuple[str, str], float]:
        places = [(row, column) for row in rows for column in columns]
        return {(row.name, at): rate(profile, columns[at], number(row.keys[0])) for row, at in places}

    table.columns(*columns)
