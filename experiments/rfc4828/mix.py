"""TCP, TFRC and web sessions through one queue: Tables 12 to 21.

The web traffic is a model of ours: measured values are compared with those of ns-2 with it, and with the print,
which they then show to be of another one.
"""

from functools import partial
from typing import Any

from paper import RFC, at_limit

from tfrc.lab import Experiment, Quick, Run, over

NS2_TCP = ["flow.tcp*.tcp.settings=ns2", "flow.web*.tcp.settings=ns2", "flow.back.tcp.settings=ns2"]
# ns-2 begins an object when the request's acknowledgement is back: docs/ns2-facts.md §5.
NS2_WEB = ["flow.web*.web.begin=acknowledged"]
NS2_TFRC = ["flow.tfrc*.backlog=kept", "flow.tfrc*.tfrc.revision=ns2"]
NS2_TFRC_SP = [*NS2_TFRC, "flow.tfrc*.tfrc.charged_header=32B", "flow.tfrc*.tfrc.short_intervals=ns2"]
# ns-2 has 30 seeds of each row. More would not settle what stays open: in the 50 s that count a TCP sends one
# to ten packets there, and neither mean is known to a tenth.
mix = partial(
    Experiment, RFC, profiles={"as-published": [*NS2_TCP, *NS2_WEB, *NS2_TFRC_SP]}, rfc_runs=3, ns2_seeds=30
)
# N flows of each kind (Tables 15 and 16), or five host pairs.
n_flows = partial(
    mix,
    scenario="../flows.toml",
    keys={"web_sessions": ["flow.web.count"], "flows": ["flow.tcp.count", "flow.tfrc.count"]},
    quick=Quick(2, rows=["10/1", "50/5", "100/10"]),
)
host_pairs = partial(
    mix,
    scenario="../pairs.toml",
    keys={"web_sessions": [], "sessions_of_each_pair": ["flow.web*.web.sessions"]},
    quick=Quick(2, rows=["10/2", "50/10", "200/40"]),
)
SOME_FLOWS, SOME_PAIRS = ["10/1", "50/5", "100/10", "300/30"], ["10/2", "50/10", "200/40", "800/160"]
BOTH_WAYS = ("link.shared.queue", "link.shared.reverse.queue")


def through(queue: str) -> list[str]:
    """The changes that put this queue at both ends of the shared link."""
    return [f"{end}={queue}" for end in BOTH_WAYS]


# The queues of Tables 12 to 21 (RFC 4828 §B.3 and §B.4), counted as ns-2 does. The file has 100 packets, drop-tail.
# RED is that of ns-2.35 with its defaults but for the queue, and as the appendix says that above the fixed threshold
# all packets are dropped: `gentle_ false`, `use_mark_p_ false`.
IN_BYTES = through("50kB ns2")
STRICT = "above_max = 'drop', forced = 'drop'"
RED_IN_PACKETS = through(
    f"{{ red = {{ revision = 'ns2', limit = '100p', measure = 'packets', mode = 'packet', {STRICT} }} }}"
)
RED_IN_BYTES = through(f"{{ red = {{ revision = 'ns2', limit = '50kB ns2-red', {STRICT} }} }}")
ADAPTIVE_RED = through("{ red = { revision = 'ns2', limit = '50kB ns2-red', adaptation = 'ns2' } }")
# Tables 14, 19 and 21. The TCP on the way back has the same segments, as in the runs of ns-2.
TCP_512B = ["flow.tcp*.segment=512B", "flow.back.segment=512B"]
ABOVE_MAX = ("above_max=gentle-from-start", "forced=by-probability")
GENTLE = [f"{queue}.red.{change}" for queue in BOTH_WAYS for change in ABOVE_MAX]


def mixed(table: Experiment, run: str, tcp: str, tfrc: str, segment: int = 1460, **options: Any) -> None:
    """Adds a run of both kinds, whose columns are their drop and send rates under these two names."""
    kinds = {tcp: ("tcp*", segment, segment + 40), tfrc: ("tfrc*", 200, 232)}

    @table.run(name=run, **options)
    def measure(run: Run) -> dict[str, float]:
        found = {}
        for name, (flows, data, packet) in kinds.items():
            received, sent = (run.total(flows, f"{what}_packets") for what in ("received", "sent"))
            found[f"{name}_drop_rate"] = 1 - over(received, sent)
            bytes_on_the_wire = run.flow(flows, "sent_bytes") * packet / data
            found[f"{name}_send_Kbps"] = bytes_on_the_wire * 8 / run.measured_s / 1000
        return found

    # In the queue of buffers nothing is printed.
    against = "either" if run == "named" else "ns2"
    here: dict[str, Any] = {"run": run, "rows": options.get("rows"), "against": against}
    for name, rule in ((tcp, None), (tfrc, at_limit(200, 100))):
        table.columns(f"{name}_drop_rate", band="drop", **here)
        table.columns(f"{name}_send_Kbps", uninformative=rule, **here)


def as_published_and_in_buffers(table: Experiment, segment: int = 1460, tfrc: str = "tfrc_sp_200B") -> None:
    """Adds the mix of the table, and the same through the queue that §B.3 asks for."""
    mixed(table, "named", f"tcp_{segment}B", tfrc, segment)
    for what, of in {"drop_rate": "packets dropped", "send_Kbps": "rate of sending, kbit/s"}.items():
        table.curves(f"tcp_{segment}B_{what}", f"{tfrc}_{what}", xlabel="web sessions", ylabel=of, log="xy")
    rows = SOME_FLOWS if "flows" in table.keys else SOME_PAIRS
    buffers = [f"{queue}=100 buffers of 500B" for queue in BOTH_WAYS]
    mixed(table, "buffers", "buffers_tcp", "buffers_tfrc", segment, set=buffers, rows=rows)


def gentle(table: Experiment) -> None:
    """Adds ns-2's other RED to Tables 17 to 19."""
    text = "explains: the default RED of ns-2.35, which rises gently above its upper threshold"
    table.variant("gentle", text, GENTLE, rows=SOME_PAIRS, only=["named"])


def wider_thresholds(table: Experiment, explains: str) -> None:
    """Adds a RED with thresholds of its own to Tables 17 and 20."""
    changes = [f"link.shared.queue.red.{change}" for change in ("thresholds=fixed", "min=25", "max=75")]
    name = "thresholds of 25 and 75 packets"
    table.variant(name, f"explains: {explains}", changes, rows=["10/2", "50/10"], only=["named"])
