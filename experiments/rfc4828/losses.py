"""Flows of one kind over a path that loses packets or bytes: Tables 5 to 10 and §8."""

from collections.abc import Callable
from functools import partial
from typing import Any

from paper import RFC, at_limit

from tfrc.lab import Experiment, Run

# Tables 5 and 6: TCPs over a path that drops bytes.
segment_sizes = partial(
    Experiment,
    RFC,
    scenario="../segments.toml",
    keys={"segment_bytes": ["flow.flow.segment"], "flows": ["flow.flow.count"]},
    profiles={"as-published": ["flow.flow.tcp.settings=ns2"]},
    rfc_runs=5,
    # Fixed before the runs of ns-2: it had five, which knew its goodput with large segments to a fifth.
    ns2_seeds=50,
)


def tcp(run: Run) -> dict[str, float]:
    """TCP's drop rate, its rate of sending, the SYN counted as a segment, and its goodput: the segments
    that the sender has seen acknowledged in sequence, as in ns-2."""
    sent, received = (run.total("flow", f"{what}_packets") for what in ("sent", "received"))
    segment_kbps = 8 * run.number("segment_bytes") / run.to_s / 1000
    return {
        "packet_drop_rate": (sent - received) / (sent + run.number("flows")),
        "tcp_send_Kbps": run.flow("flow", "send_rate_bps") / 1000 + segment_kbps,
        "tcp_goodput_Kbps": run.flow("flow", "acknowledged_packets") * segment_kbps,
    }


def other_round_trips(table: Experiment) -> None:
    """Adds the other readings of the print of Tables 5 and 6."""
    text = "explains: the other reading of the print, a path of 240 ms of which 80 s are counted as 100"
    table.variant("240ms", "assumed: link.path.delay", ["link.path.delay=118ms"])
    table.variant("80 of 100 s", text, ["link.path.delay=118ms", "duration=80s"])


# Tables 7 to 10 and §8: flows of one kind over a path that loses packets; as published with ns-2's settings.
SACK = ["flow.flow.tcp.variant=sack", "flow.flow.tcp.window=100"]
NS2_TCP = {"as-published": ["flow.flow.tcp.settings=ns2"]}
AS_TFRC, BACKLOG = ["flow.flow.kind=tfrc"], ["flow.flow.backlog=kept"]
SP_OF_NS2 = [
    *AS_TFRC,
    "flow.flow.tfrc={ revision = 'ns2', packet_size = 'tfrc-sp', path_mss = '1460B', charged_header = '32B', "
    "short_intervals = 'ns2' }",
]
TFRC = {"as-published": [*AS_TFRC, "flow.flow.tfrc.revision=ns2", *BACKLOG], "rfc": AS_TFRC}
TFRC_SP = {"as-published": [*SP_OF_NS2, *BACKLOG], "rfc": ["flow.flow.kind=tfrc-sp"]}
# Packets are marked instead of dropped; the key of a row then sets the mark rate.
MARKING = ["flow.flow.tcp.ecn=on", "link.path.loss={ bernoulli = '1%', action = 'mark' }"]
MARK_RATE = {"packet_drop_rate": ["link.path.loss.bernoulli"], "flows": ["flow.flow.count"]}
drop_rates = partial(
    Experiment,
    RFC,
    scenario="../losses.toml",
    keys={"packet_drop_rate": ["link.path.loss"], "flows": ["flow.flow.count"]},
    must_agree=True,
    ignored={"ecn_realistic": "a flag of the table, not a result"},
    rfc_runs=5,
)


def wire_kbps(column: str, segment: int, header: int) -> Callable[[Run], dict[str, float]]:
    """Measures a column: the rate of sending with headers."""
    return lambda run: {column: run.flow("flow", "send_rate_bps") * (segment + header) / segment / 1000}


def tcp_and_marked_tcp(table: Experiment) -> None:
    """Adds TCP whose packets are dropped, and TCP whose packets are marked."""
    tcp, ecn = (wire_kbps(column, 1460, 40) for column in ("tcp_1460B_Kbps", "ecn_tcp_1460B_Kbps"))
    table.run(name="tcp", set=SACK, profiles=NS2_TCP)(tcp)
    table.run(name="ecn", set=[*SACK, *MARKING], keys=MARK_RATE, profiles=NS2_TCP)(ecn)
    table.columns("tcp_1460B_Kbps", run="tcp", ns2_only_rows=["30%/200", "40%/200", "50%/200"])
    table.columns("ecn_tcp_1460B_Kbps", run="ecn")


def application(segment: int, per_second: int) -> list[str]:
    """The changes that make the flows send segments at a fixed rate."""
    changes = (f"segment={segment}B", f"packets_per_second={per_second}", "header=32B")
    return [f"flow.flow.{change}" for change in changes]


def limited(table: Experiment, column: str, segment: int, per_second: int, kind: dict[str, Any]) -> None:
    """Adds `TFRC` or `TFRC_SP` with an application that sends at a fixed rate."""
    flow = application(segment, per_second)
    table.run(name=column, set=flow, profiles=kind)(wire_kbps(column, segment, 32))
    table.columns(column, run=column, uninformative=at_limit(segment, per_second))
