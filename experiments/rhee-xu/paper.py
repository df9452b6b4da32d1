"""The common part of the figures of Rhee and Xu.

Rules for all experiments of this folder, fixed before their results were seen (docs/experiments.md).
"""

from functools import partial

from tfrc.lab import Experiment, Paper, Quick, SeedRule

PAPER = Paper(
    "Rhee and Xu, IEEE/ACM Transactions on Networking 15(4), 2007",
    seeds=SeedRule(least=10, most=400, hops=300e6, part=3),
    holds="The timeout in the equation decides most of TFRC's rate next to TCP, and TFRC sees more loss events "
    "for each packet than a faster TCP.",
    fails="The ratio above 20 at 5 % loss is in neither simulator.",
)
FLOWS = {"flows": ["flow.tcp.count", "flow.tfrc.count"]}
NS2 = ["flow.tfrc.tfrc.revision=ns2", "flow.tcp.tcp.settings=ns2", "flow.tcp.tcp.window=5000"]
# t_RTO as a standard TCP has it, in both profiles: the paper sets it so.
TICKS = ["flow.tfrc.tfrc.rto=ticks", "flow.tfrc.tfrc.rto_tick=10ms"]
# The RTOs of the RFCs. As in our ns-2 runs t_RTO is that of a TCP and at least 4(R + 4 ms); the rfc profile has
# 4R itself.
RFC_RTOS = {"as-published": [*NS2, *TICKS, "flow.tcp.tcp.min_rto=1s"]}
TCP_RTO = ["flow.tfrc.tfrc.rto_tick=10ms", "flow.tfrc.tfrc.rto_least=1s"]

def path(delay: str, rtt: str, queue: int, low: int, high: int, *more: str) -> list[str]:
    """The changes that make the dumbbell's path another one, with queues of `queue` packets."""
    red = "link.bottleneck.queue.red"
    queues = [f"{red}.limit={queue}p", f"{red}.min={low}", f"{red}.max={high}"]
    way_back = f"link.bottleneck.reverse.queue={queue}p ns2"
    return [*more, f"link.bottleneck.delay={delay}", f"flow.*.rtt=uniform {rtt}", *queues, way_back]


# One dumbbell of n TCPs and n TFRC flows. Figures 6 to 11: 50 ms.
dumbbell = partial(
    Experiment,
    PAPER,
    scenario="../dumbbell.toml",
    keys=FLOWS,
    quick=Quick(runs=3, set=["duration=100s"], rows=["8", "32"]),
    profiles={
        "as-published": [*NS2, "flow.tfrc.tfrc.rto=ticks", *TCP_RTO, "flow.tcp.tcp.min_rto=1s"],
        "rfc": ["flow.tfrc.tfrc.rto=rfc6298", *TCP_RTO],
    },
)
# Figures 14 and 15 and the heuristics: paths of 10 to 500 ms (section VI), the shortest unless a run has another.
paths = partial(
    Experiment,
    PAPER,
    scenario="../dumbbell.toml",
    set=["duration=250s", *path("2ms", "9.8ms 10.2ms", 19, 4, 12)],
    keys=FLOWS,
    quick=Quick(runs=3, set=["duration=100s"], rows=["32", "96"]),
)

# Each path: its rows, its changes, and least t_RTO: 4 (R + 4 ms), R without queueing, as in our ns-2 runs.
PATHS = {
    "10ms": (["8", "16", "32"], [], "56ms"),
    "50ms": (["32", "64"], path("10ms", "49ms 51ms", 94, 19, 56), "216ms"),
    "100ms": (["64"], path("20ms", "98ms 102ms", 188, 38, 112), "416ms"),
    "500ms": (
        ["16", "64", "96"],
        path("100ms", "490ms 510ms", 188, 38, 112, "link.bottleneck.rate=3Mbit/s"),
        "2016ms",
    ),
}


def equation(rtt: float, p: float, t_rto: float = 1.0, most: float = 1.0) -> float:
    """The paper's f, in kbit/s of packets of 1000 bytes; its timeout term is capped at `most`."""
    timeouts = min(most, 3.0 * (3.0 * p / 8.0) ** 0.5) * p * (1.0 + 32.0 * p**2)
    return 8.0 / (rtt * (2.0 * p / 3.0) ** 0.5 + t_rto * timeouts)


def kbps(run, kind: str) -> float:
    """The sending rate in packets of 1000 bytes; 960 and 968 of them are data."""
    return run.flow(kind, "send_rate_bps") * 1000 / {"tcp": 960, "tfrc": 968}[kind] / 1000


def per_packet(run, kind: str) -> float:
    """Loss events for each packet that was sent."""
    return run.total(kind, "loss_events") / run.total(kind, "sent_packets")


def difference(run) -> float:
    """TFRC's loss events per packet over TCP's, less one."""
    return per_packet(run, "tfrc") / per_packet(run, "tcp") - 1


def beside_equation(run) -> dict[str, float]:
    """TFRC's throughput beside the equation at 1/E[θ] and at E[1/θ̂], at TFRC's own round-trip time."""
    rtt, p, p_hat = run.flow("tfrc", "rtt_s"), run.theta("tfrc", "p"), run.theta("tfrc", "p_hat")
    at_p, at_p_hat, tfrc = equation(rtt, p), equation(rtt, p_hat), kbps(run, "tfrc")
    return {
        "tcp_Kbps": kbps(run, "tcp"),
        "tfrc_Kbps": tfrc,
        "p": p,
        "normalized_cov": run.theta("tfrc", "normalized_cov"),
        "cv_hat": run.theta("tfrc", "cv_hat"),
        "p_hat": p_hat,
        "f_p_over_tfrc": at_p / tfrc,
        "f_p_hat_over_tfrc": at_p_hat / tfrc,
        "gap": at_p / at_p_hat,
    }


def tfrc_beside_equation(figure: Experiment, *changes: str) -> None:
    """Adds that measure as the run `sim`, with its columns."""
    figure.run(beside_equation, name="sim", set=changes)
    figure.columns("tcp_Kbps", "tfrc_Kbps", run="sim")
    of_intervals = ("p", "normalized_cov", "cv_hat", "p_hat", "f_p_over_tfrc", "f_p_hat_over_tfrc", "gap")
    figure.columns(*of_intervals, run="sim", against="published")
