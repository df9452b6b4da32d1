"""The on/off sources of Figures 11 to 13 alone: what one sends in the mean. `python alone.py` takes two
minutes for a million draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# Bits of a packet; the shape of the times on and off (sources.toml).
PACKET, SHAPE = 8000, 1.5


def rates(sources: int, seed: int, start: float = 20.0, end: float = 2500.0) -> Any:
    """The rates of drawn sources between two times in seconds, bit/s each.

    A burst is the nearest whole number of packets to what the time on would hold, and at least one;
    the time off follows the gap after the last packet.
    """
    draw = np.random.default_rng(seed)
    rate = draw.uniform(0.0, 1e6, sources) / PACKET
    on, off = draw.uniform(0.0, 2.0, sources), draw.uniform(0.0, 4.0, sources)
    at, sent, left = draw.uniform(0.0, 5.0, sources), np.zeros(sources), np.arange(sources)
    while len(left):

        def pareto(mean: Any, count: int = len(left)) -> Any:
            return (1.0 - draw.random(count)) ** (-1.0 / SHAPE) * mean * (SHAPE - 1.0) / SHAPE

        each, begin = rate[left], at[left]
        packets = np.maximum(np.floor(pareto(on[left]) * each + 0.5), 1.0)
        until = [np.clip(np.ceil((time - begin) * each), 0.0, packets) for time in (start, end)]
        sent[left] += until[1] - until[0]
        at[left] = begin + packets / each + pareto(off[left])
        left = left[at[left] < end]
    return sent * PACKET / (end - start)


if __name__ == "__main__":
    found = np.concatenate([rates(100_000, seed) for seed in range(1, 11)])
    print(f"{found.mean():.0f} bit/s, standard error {found.std(ddof=1) / math.sqrt(len(found)):.0f}")
