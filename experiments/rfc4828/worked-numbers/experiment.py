from math import sqrt

from closed_form import HEADER, MOST_PACKETS, NOMINAL, packet_drop_rate
from paper import RFC
from scipy.optimize import brentq

from tfrc import Equation
from tfrc.lab import Experiment

table = Experiment(
    RFC,
    "§4.2, §4.5.3, §5, §8, §B.1, §B.2, §B.4, Appendix C; RFC 3714, §5",
    "The numbers worked out in the text",
    keys={"statement": []},
)
# bit/s and round-trip time of the voice of §5, without headers, and of that of §8, with them.
CALL, VOICE = (64e3, 0.1), (128e3, 0.2)


def drop_percent(profile, segment, bps, rtt):
    """Per cent of packets dropped at which a TCP of `segment` bytes has the rate `bps`: as published t_RTO is
    2R, on which RFC 3714 Table 1 rests; in the other profile 4R, as in RFC 4828's own equation."""
    if profile == "rfc":
        return 100 * Equation().loss_event_rate(segment, rtt, bps)

    def excess(p):
        timeouts = 3 * sqrt(3 * p / 8) * p * (1 + 32 * p**2)
        return 8 * segment / (rtt * sqrt(2 * p / 3) + 2 * rtt * timeouts) - bps

    return 100 * brentq(excess, 1e-6, 1, xtol=1e-15)


def data_kbps(segment):
    """The rate of data in 128 kbit/s with headers."""
    return 128 * segment / (segment + HEADER)


def packets(segment, bps, rtt):
    """Packets in a round-trip time."""
    return bps * rtt / 8 / segment


@table.compute
def numbers(profile, _rows, _changes):
    found = {
        "s4.2-120B": data_kbps(120),
        "s4.2-40B": data_kbps(40),
        "s4.2-1B": data_kbps(1),
        "s4.5.3-536": NOMINAL / 536,
        "s4.5.3-4000": 4000 / NOMINAL,
        "s5-packets": packets(1500, *CALL),
        "s5-drop": drop_percent(profile, 1500, *CALL),
        "s8-packets": packets(NOMINAL, *VOICE),
        "s8-drop": drop_percent(profile, NOMINAL, *VOICE),
        "s8-headers": (10 + 100) / (10 + HEADER),
        "b1-data": 100 * 14 / (14 + 32),
        "b1-tcp": 100 * NOMINAL / (NOMINAL + HEADER),
        "b1-limit": MOST_PACKETS * NOMINAL * 8 / 1000,
        "b2-ratio": 1500 / 56,
        "b2-56B": 100 * packet_drop_rate(0.01, 56),
        "b2-40B": 100 * packet_drop_rate(0.01, HEADER),
        "b2-best-0.001": 0.15 / 0.001,
        "b4-size": (NOMINAL + HEADER) / (200 + 32),
        # The loss interval that a short interval of 64 packets with 16 of them lost counts for (§4.4).
        "c-short": 64 / 16,
    }
    return {(statement, "value"): value for statement, value in found.items()}


table.columns("value", rows=["*"])

table.claim(
    "§4.5.3: over a path with an MSS of 536 bytes a TFRC-SP flow that takes 1460 "
    "can get almost three times the rate of TCP"
)(lambda t: t["s4.5.3-536", "value"], between=(2.5, 3.0))
table.claim("§4.5.3: with an MSS near 4000 bytes TCP gets almost three times that of TFRC-SP")(
    lambda t: t["s4.5.3-4000", "value"], between=(2.5, 3.0)
)
table.claim(
    "§5: a 64 kbit/s call over 0.1 s is to stop at a persistent drop rate significantly above 25 %, with "
    "t_RTO = 2R, the basis of RFC 3714, Table 1"
)(lambda t: t["s5-drop", "value"], between=(24.5, 26.0))
table.claim("§5: with t_RTO = 4R, the equation's own, the same call would stop at 20 %")(
    lambda t: t["s5-drop", "value"], between=(19.5, 20.5), profile="rfc"
)
table.claim("§8: 128 kbit/s over 0.2 s are restricted only at slightly more than 10 %, with t_RTO = 2R")(
    lambda t: t["s8-drop", "value"], between=(10.0, 11.5)
)
table.claim("§8: with t_RTO = 4R from 8.4 % on")(
    lambda t: t["s8-drop", "value"], between=(8.2, 8.7), profile="rfc"
)
table.claim("§8: large headers can give a flow of ten-byte segments more than twice the rate on the wire")(
    lambda t: t["s8-headers", "value"], between=(2.0, 2.5)
)
table.claim("B.2: at a byte drop rate of 0.001 the best segment is about 150 bytes with its header")(
    lambda t: t["b2-best-0.001", "value"], between=(128, 168)
)
table.claim("B.4: TCP packets are about six times as large as those of TFRC-SP")(
    lambda t: t["b4-size", "value"], between=(6.0, 6.6)
)
