#!/usr/bin/env python3
"""Writes the delivery traces of this folder and their pictures in docs/models/traces.

docs/models/traces.md has the models and their sources. Draws come from SplitMix64 with a seed for
each trace, and arithmetic is whole numbers or + - * / of 64-bit floats: the files are equal on every
platform. Prints the table of that page; `make.py --check` writes nothing and tells what differs.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

OPPORTUNITY_BITS = 12_032  # 1504 bytes
BITS_PER_SECOND_AND_MS = 12_032_000.0  # of one opportunity in each millisecond

MASK = (1 << 64) - 1


class Draws:
    """Draws of one trace: the state of SplitMix64 (Steele, Lea, Flood 2014)."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def bits(self) -> int:
        self.state = (self.state + 0x9E37_79B9_7F4A_7C15) & MASK
        x = self.state
        x = ((x ^ (x >> 30)) * 0xBF58_476D_1CE4_E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D0_49BB_1331_11EB) & MASK
        return x ^ (x >> 31)

    def uniform(self) -> float:
        """From 0 up to 1."""
        return (self.bits() >> 11) / (1 << 53)

    def between(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low + self.bits() % (high - low + 1)

    def choice(self) -> int:
        """One of four."""
        return self.bits() >> 62

    def normal(self) -> float:
        """Mean 0 and variance 1: the sum of twelve uniform draws, less six."""
        total = 0.0
        for _ in range(12):  # sum() would compensate its errors
            total += self.uniform()
        return total - 6.0


def grant(times: list[int], at: int, credit: float) -> float:
    """Adds the whole opportunities of a credit, and gives what is left."""
    whole = int(credit)
    times.extend([at] * whole)
    return credit - whole


def cable(draws: Draws) -> tuple[list[int], int]:
    """Upstream of a cable modem: grants every 2 ms of a rate that neighbours reduce."""
    period, map_ms, rate = 20_000, 2, 10e6
    times: list[int] = []
    share, until, credit = 1.0, 0, 0.0
    for at in range(map_ms, period + 1, map_ms):
        if at > until:
            share = [1.0, 1.0, 0.7, 0.5][draws.choice()]
            until = at + draws.between(500, 3_500)
        credit += rate * share * map_ms / BITS_PER_SECOND_AND_MS
        credit = grant(times, at, credit)
    return times, period


def lte(draws: Draws) -> tuple[list[int], int]:
    """LTE: Poisson deliveries of a rate that wanders, with outages."""
    period, tick_ms, most, after_outage = 40_000, 20, 1000.0, 100.0
    step = 28.284_271  # 200 opportunities per second and root of a second, over 20 ms: 200 * sqrt(0.02)
    escape = 0.02  # chance of an outage to end within a tick: one in a second, in the mean
    times: list[int] = []
    rate = 500.0
    for tick in range(period // tick_ms):
        if rate > 0.0:
            rate = min(max(rate + step * draws.normal(), 0.0), most)
        elif draws.uniform() < escape:
            rate = after_outage
        for at in range(tick * tick_ms + 1, (tick + 1) * tick_ms + 1):
            # Ten chances in a millisecond: Poisson, but for ten at most.
            times.extend(at for _ in range(10) if draws.uniform() < rate / 1e4)
    return times, period


def satellite(draws: Draws) -> tuple[list[int], int]:
    """A satellite's uplink that is allocated anew every 15 s."""
    period, span_ms = 60_000, 15_000
    times: list[int] = []
    level, factor, silent_until, credit = 0.0, 1.0, 0, 0.0
    for at in range(1, period + 1):
        if at % span_ms == 1:
            level = draws.between(3_000, 9_000) * 1e3
            silent_until = at + draws.between(100, 300)
            credit = 0.0
        if at % 500 == 1:
            factor = draws.between(80, 120) / 100.0
        if at >= silent_until:
            credit = grant(times, at, credit + level * factor / BITS_PER_SECOND_AND_MS)
    return times, period


def wifi(draws: Draws) -> tuple[list[int], int]:
    """A Wi-Fi station among others: aggregates of several packets after waits for the medium."""
    period = 20_000
    # Packets of an aggregate and bits per microsecond: 64-QAM, 16-QAM and BPSK in 20 MHz.
    states = [(24, 65, 1), (12, 26, 1), (4, 13, 2)]
    times: list[int] = []
    now_us, state = 0, states[0]
    while True:
        if draws.uniform() < 0.01:
            state = states[draws.choice() % len(states)]
        others = sum(draws.between(1_000, 4_000) for _ in range(draws.between(0, 8)))
        backoff = 34 + 9 * draws.between(0, 15)
        packets, bits, microseconds = state
        now_us += others + backoff + packets * OPPORTUNITY_BITS * microseconds // bits
        at = -(-now_us // 1000)
        if at > period:
            return times, period
        times.extend([at] * packets)


# Seed and model. The seed of lte is one whose longest outage is near the mean of one second.
TRACES = {"cable": (1, cable), "lte": (4, lte), "satellite": (3, satellite), "wifi": (2, wifi)}


def counts(times: list[int], every_ms: int) -> list[int]:
    """Opportunities in each interval of the period."""
    result = [0] * (times[-1] // every_ms)
    for at in times:
        result[(at - 1) // every_ms] += 1
    return result


def figures(name: str, times: list[int]) -> str:
    """A row of the page's table."""
    seconds = counts(times, 1000)
    mean, least, most = (
        count * OPPORTUNITY_BITS / ms / 1e3
        for count, ms in [(len(times), times[-1]), (min(seconds), 1000), (max(seconds), 1000)]
    )
    gap = max(after - before for before, after in zip(times, times[1:]))
    return (
        f"| `{name}` | {times[-1] // 1000} s | {mean:.2f} Mbit/s "
        f"| {least:.2f} to {most:.2f} Mbit/s | {gap} ms |"
    )


def picture(times: list[int]) -> str:
    """The rate over 100 ms against time."""
    width, height = 600, 120
    rates = counts(times, 100)
    most, seconds = max(rates), times[-1] // 1000
    line = "".join(f" {i * width // len(rates)} {height - n * height // most}" for i, n in enumerate(rates))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="-50 -10 670 160" font-family="sans-serif" '
        'font-size="11" fill="#777">\n'
        f'<path fill="none" stroke="#4477aa" d="M{line}"/>\n'
        f'<path fill="none" stroke="#777" d="M0 0V{height}H{width}"/>\n'
        f'<text x="-4" y="4" text-anchor="end">{most * OPPORTUNITY_BITS / 1e5:.0f} Mbit/s</text>\n'
        f'<text x="-4" y="{height}" text-anchor="end">0</text>\n'
        f'<text x="0" y="{height + 16}">0 s</text>\n'
        f'<text x="{width}" y="{height + 16}" text-anchor="end">{seconds} s</text>\n</svg>\n'
    )


def main() -> int:
    different = []
    print("| trace | period | mean | least and most over 1 s | longest time without an opportunity |")
    print("| --- | --- | --- | --- | --- |")
    for name, (seed, model) in TRACES.items():
        times, period = model(Draws(seed))
        if times[-1] != period:  # the trace ends with its period
            times.append(period)
        print(figures(name, times))
        for path, text in [
            (ROOT / f"scenarios/traces/{name}.trace", "".join(f"{at}\n" for at in times)),
            (ROOT / f"docs/models/traces/{name}.svg", picture(times)),
        ]:
            if "--check" not in sys.argv:
                path.write_text(text)
            elif path.read_text() != text:
                different.append(str(path))
    for path in different:
        print(f"{path} differs", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
