import numpy as np
from paper import kernel, log2

from tfrc.lab import Emulation, Quick

LINKS, FLOWS = ("bounded", "free"), ("bounded", "free")
quick = Quick(1, ["duration=120s", "flow.tcp.stop=60s", "flow.other-tcp.stop=60s"], ["*/8Mbit/s/*/greedy/160p"])
figure = kernel(
    "The bound on the queueing delay next to Linux's CUBIC in twelve cells of its grid: simulated, and the kernel's",
    keys={
        "bound": ["flow.bounded.tfrc.max_queue_delay"],
        "rate": [f"link.{link}.rate" for link in LINKS],
        "delay": [f"link.{link}.delay" for link in LINKS],
        "queue": [],
        "pattern": [],
        "room": [f"link.{link}.queue" for link in LINKS],
    },
    # Three seeds as in the grid, and two runs of the kernel, fixed before any was made.
    runs=3,
    quick=quick,
    emulation=Emulation(runs=2, quick=quick),
)


def measure(run):
    """What the bars are about, each so that zero is its edge."""
    end = run.to_s - 60
    bound, packet = run.number("bound"), 1500 * 8 / run.number("rate")
    rates = {flow: run.goodput(flow, run.from_s, end) for flow in FLOWS}
    queue = packet * np.median(run.queue("free", run.from_s, end))
    after = packet * np.quantile(run.queue("bounded", end + 30, run.to_s), 0.95)
    return {
        "filler": queue / bound - 1,
        "share_log2": log2(rates["bounded"] / rates["free"] / 0.85),
        "after": after / bound - 1,
        "bounded_mbps": rates["bounded"] / 1e6,
        "free_mbps": rates["free"] / 1e6,
    }


def pattern(*changes):
    return [f"flow.{flow}.{change}" for flow in FLOWS for change in changes]


def on_off(on, off):
    starts = [0.5 + period * (on + off) for period in range(int(300 / (on + off)))]
    times = ", ".join(f"{{ from = '{start:.2f}s', to = '{start + on:.2f}s' }}" for start in starts)
    return pattern(f"active=[{times}]")


def segments(rate, seconds):
    size = int(rate * 1e6 * 0.6 * seconds / 8)
    times = [1.0 + segment * seconds for segment in range(int(300 / seconds))]
    writes = ", ".join(f"{{ at = '{at:.1f}s', bytes = '{size}B' }}" for at in times)
    return pattern(f"writes=[{writes}]")


talk = ["segment=160B", "start=uniform 0s 1s", "packets_per_second=50", "on=exponential 1s", "off=exponential 1.35s"]
for name, rows, changes in (
    ("greedy", "*/greedy/*", pattern("start=uniform 0s 1s")),
    ("on-off", "*/on 1.5 off 1.5/*", on_off(1.5, 1.5)),
    ("on-off-long", "*/on 4 off 2/*", on_off(4, 2)),
    ("talk", "*/talk/*", pattern(*talk)),
    *(
        (f"segments-{rate}-{seconds}", f"*/{rate}Mbit/s/*/segments {seconds}/*", segments(rate, seconds))
        for rate, seconds in ((2, 6), (30, 2), (30, 6))
    ),
):
    figure.run(measure, name=name, rows=[rows], set=changes, keep=["looks"])
figure.columns("filler", "share_log2", "after", "bounded_mbps", "free_mbps")

# The bands, before any run: eleven of twelve, as one cell near an edge may fall on either side.
figure.claim("In eleven of twelve cells the kernel's CUBIC keeps the median of the queue above D or not, as simulated")(
    lambda t: t.same_side("filler", 0), between=(11 / 12, 1)
)
figure.claim("and the rate with the bound is on the same side of 0.85 of that without")(
    lambda t: t.same_side("share_log2", 0), between=(11 / 12, 1)
)
figure.claim("and the queue is on the same side of D from 30 to 60 s after the TCP's end")(
    lambda t: t.same_side("after", 0), between=(11 / 12, 1)
)
