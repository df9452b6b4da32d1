"""The common part of the figures of "Equation-Based Congestion Control for Unicast Applications".

Rules for all experiments of this folder, fixed before their results were seen (docs/experiments.md).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tfrc.lab import Control, Emulation, Experiment, Paper, Quick, Run, SeedRule

PAPER = Paper(
    "TR-00-003",
    # `hops`: two minutes of a processor for each experiment. It was 12e9 while figures 11 to 13 had no control,
    # and 5e9 until all experiments were measured together: these three took 25 of 58 minutes for 160 to 320
    # draws, whose intervals are those of ten draws of the print (`printed_runs`) or of ns-2's thirty. `open_*`:
    # 1000 seeds where they cost a minute or two of a processor, which are the experiments whose runs take well
    # below a second. Each number was fixed before any result with it was seen.
    seeds=SeedRule(least=10, most=400, hops=1e9, part=3, open_seeds=1000, open_hops=1e9),
    # TR-00-003 §3: the report simulates its own TFRC; ns-2.35's is a variant.
    revision="sigcomm2000",
    holds="TFRC shares links with TCP, varies less, halves its rate in about five round-trip times and adds "
    "little more than a tenth of a packet in each without loss (0.14 by the slides, 0.12 by the report).",
    fails="Among on/off sources, at losses of a third and more, TFRC varies about half as much as printed and is "
    "half as equivalent to TCP; below two packets in a round-trip time its rate falls more slowly.",
    unknown="How the TFRC of March 2000, whose program is not to be had, behaved in these two; the Internet paths "
    "of then.",
)
SCRIPT = "the authors' ns-2 script (icir.org/tfrc/sims.html)"
SCRIPTS = "the authors' ns-2 scripts (icir.org/tfrc/sims.html)"

KINDS = ("tcp", "tfrc")

# What several figures show once more with other settings: by the name of the variant, what that explains and
# the changes.
VARIANTS = {
    "ns2-rules": ("TFRC of ns-2.35 instead of the report's rules", ["flow.tfrc*.tfrc={ revision = 'ns2' }"]),
    "arrival-reports": (
        "ns-2's reports: on the first packet R after the last, with X_recv since the last",
        ["flow.tfrc.tfrc.feedback=arrival", "flow.tfrc.tfrc.receive_rate=since-report"],
    ),
    "ns-2.35": (
        "the TCP of ns-2.35 instead of that of early 2000",
        ["flow.tcp.tcp={ variant = 'sack', settings = 'ns2', window = 10000 }"],
    ),
    "min-rto-1s": ("the minimum of 1 s that ns-2 had from 2001 to 2004", ["flow.tcp.tcp.min_rto=1s"]),
    "max-rto-60s": (
        "the greatest timeout of ns-2 since March 2007, in place of a long one",
        ["flow.tcp.tcp.max_rto=60s"],
    ),
    "rtt-80-120ms": (
        "the round-trip times of Figure 9",
        [f"flow.{kind}.rtt=uniform 80ms 120ms" for kind in KINDS],
    ),
    "as-described": (
        "sources that are all alike, as the report's words have them: 1 s on, 2 s off, 500 kbit/s",
        ["flow.onoff.draws={}"],
    ),
    "random-starts": (
        "starts at random within the first 20 s instead of evenly",
        [f"flow.{kind}-*.start=uniform 0s 20s" for kind in KINDS],
    ),
    "equal-rtts": (
        "all round-trip times 45 ms, as the report's words have them",
        [f"flow.{kind}-*.rtt=45ms" for kind in KINDS],
    ),
    "no-reverse": ("without reverse traffic", ["flow.back.count=0"]),
    "from-20s": ("the last 10 s alone, when all flows are there", ["warmup=20s"]),
}


def vary(figure: Experiment, *names: str, more: str = "", **options: Any) -> None:
    """Adds variants of these names; `more` ends the reason."""
    for name in names:
        explains, changes = VARIANTS[name]
        figure.variant(name, f"explains: {explains}{more}", changes, **options)


def place(figure: int, *sources: str) -> str:
    """The place of a figure in the report and in the conference version, which has a Figure 8 of its own."""
    return "; ".join([f"Figure {figure} (conference version: Figure {figure + (figure >= 8)})", *sources])


def rfc_tcp(flow: str = "tcp", window: int = 5000) -> str:
    """The change that makes a flow the TCP of the RFCs."""
    return f"flow.{flow}.tcp={{ variant = 'sack', window = {window} }}"


def rfc_tfrc(flow: str = "tfrc", more: str = "") -> str:
    """The change that makes a flow the TFRC of RFC 5348."""
    return f"flow.{flow}.tfrc={{ revision = 'rfc5348'{more} }}"


ONE_FLOW = {"rfc": [rfc_tfrc()]}
BOTH_KINDS = {"rfc": [rfc_tcp(), rfc_tfrc()]}



def through_buffers(number: int, title: str, spacing: str) -> Experiment:
    """Figure 3 or 4: the oscillation of one flow through buffers, with RFC 5348's `spacing` in that profile.

    Emulated, the report's own algorithm, in a DCCP endpoint, goes through the pipe in real time.
    """
    quick = Quick(1, ["duration=30s", "warmup=10s"], ["64p"])
    figure = Experiment(
        PAPER,
        place(number),
        f"Oscillation of one flow through a buffer, {title}",
        scenario="../pipe.toml",
        set=[f"flow.tfrc.tfrc.spacing={spacing}"],
        keys={"buffer": ["link.pipe.queue"]},
        profiles={"rfc": [rfc_tfrc(more=f", spacing = '{spacing}'")]},
        deterministic=True,
        emulation=Emulation(runs=3, profile="as-published", quick=quick),
    )

    @figure.run
    def pipe(run: Run) -> dict[str, float]:
        return {"cov": run.cov("tfrc", 0.2), "utilization": run.link("pipe", "utilization")}

    figure.columns("cov", "utilization")
    # The rate over 180 s at each buffer, which the report has in perspective.
    for packets in (2, 8, 32, 64):
        scale = {"step": 0.5, "unit": "kB/s", "ylim": (0, 300), "whole": True}
        figure.trace(f"Buffer of {packets} packets", "pipe", row=f"{packets}p", flows=["tfrc"], **scale)
    return figure


# Figures 6 and 7, and Figure 8 of the conference version: pairs of a TCP and a TFRC flow.
PAIRS = {
    "flows_of_each": [f"flow.{kind}.count" for kind in KINDS],
    "rtt": [f"flow.{kind}.rtt" for kind in KINDS],
    "start": [f"flow.{kind}.start" for kind in KINDS],
    "back": ["flow.back.count"],
}


def share(run: Run, kind: str, line_bps: float) -> float:
    """The mean throughput of a kind of flow, with headers, over the fair share of the line."""
    return run.flow(kind, "goodput_bps") * 1000 / 960 * 2 * run.number("flows_of_each") / line_bps


# Figures 9 and 10 share their runs. Emulated, TCP is the kernel's Reno with selective acknowledgements.
mix = partial(
    Experiment,
    PAPER,
    scenario="../mix.toml",
    keys={"timescale_s": []},
    must_agree=True,
    quick=Quick(4, rows=["0.5", "5"]),
    profiles=BOTH_KINDS,
    emulation=Emulation(runs=3, quick=Quick(1, ["duration=30s", "warmup=10s"], ["0.5", "5"])),
)

# The runs that ns-2.35 is compared with where its TFRC, the only one it has, is not the report's.
NS2_RULES = VARIANTS["ns2-rules"][1]

# Figures 11 to 13: one TCP and one TFRC flow among on/off sources. What a source sends in the mean over the
# measured time follows from its distributions alone (alone.py, a million draws); the loss depends upon what the
# sources of a seed happened to draw. The control is that of every judged column but TCP's variation, which
# hardly depends on it: there it would cost a degree of freedom. The report's points are means of ten runs.
LOAD = Control("source_bps", expected=185228, error=172)
DRAWN = {"printed_runs": 10}
sources = partial(
    Experiment,
    PAPER,
    scenario="../sources.toml",
    keys={"onoff_sources": ["flow.onoff.count"], "of_each_kind": []},
    quick=Quick(1, ["duration=300s"], ["60/12", "130/26"]),
    profiles=BOTH_KINDS,
    rfc_runs=1,
)
SCALES = (0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 30, 40, 50, 60, 70, 80, 100)

# Figures 16 and 17: the report's algorithm in a DCCP endpoint alongside the kernel's Reno with selective
# acknowledgements. The row of Solaris is not run: its TCP is not to be had.
PATHS = {
    "UCL": "UCL/*",
    "Mannheim": "Mannheim/*",
    "UMass (Linux)": "UMASS_Linux/*",
    "Nokia, Boston": "Nokia_Boston/*",
}
SOLARIS = "the aggressive retransmission timer of Solaris 2 TCP cannot be had from a Linux kernel"
internet = partial(
    Experiment,
    PAPER,
    world="emu",
    scenario="../internet.toml",
    keys={"path": [], "rate": ["link.path.rate"], "delay": ["link.path.delay"], "queue": ["link.path.queue"]},
    profiles=ONE_FLOW,
    emulation=Emulation(
        runs=2,
        profile="as-published",
        rows=list(PATHS.values()),
        quick=Quick(1, ["duration=30s", "warmup=10s"], ["UCL/*"]),
    ),
)
INTERNET_SCALES = (0.4, 1, 2, 4, 10, 20, 40, 60)

# Figures 19 to 21: the round-trip time of the script's path, and what a variant of 20 explains.
RTT_S = 0.08076
PHASES = (
    "explains: what the phase of the drops does: the flow starts at a random time within 0.4 s, "
    "and the tenth packet is not dropped"
)


def rtts_to_halve(run: Run) -> float:
    """Round-trip times from the first report after 10 s that lowers the rate, which is the first, to the one
    that brings it to a half."""
    before = run.state("tfrc", "allowed_bps", 10)

    def below(part: float) -> float:
        return run.first("tfrc", "allowed_bps", 10, lambda rate: rate < part * before)

    return 1 + (below(0.5) - below(0.999999)) / RTT_S
