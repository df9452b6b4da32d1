from paper import kernel, near_kernel, queue_ms, share, through

figure = kernel(
    "Linux's Reno, CUBIC and BBR, and TFRC, in pairs: simulated, and the kernel's",
    {
        "first": [],
        "second": ["flow.second.tcp.variant"],
        "rtt": ["link.bottleneck.delay"],
        "queue": [],
        "room": ["link.bottleneck.queue"],
        "time": ["duration"],
    },
    quick=["*/40ms/1BDP/*"],
)


def measure(run):
    return {
        "share": share(run, "first", "second"),
        "utilization": run.link("bottleneck", "utilization"),
        "queue_ms": queue_ms(run),
        "loss": run.link("bottleneck", "drop_rate"),
    }


PAIRS = {
    "tcps": (["sack", "cubic"], {"first": ["flow.first.tcp.variant"]}),
    "tfrc": (["tfrc"], {}),
}
for pair, (firsts, keys) in PAIRS.items():
    for queue, name in ("drop-tail", "*BDP"), ("red", "red"), ("codel", "codel"):
        options = through(figure, queue)
        options["keys"] |= keys
        rows = [f"{first}/*/{name}/*" for first in firsts]
        figure.run(measure, name=f"{pair}-{queue}", scenario=f"{pair}.toml", rows=rows, **options)
# At the mercy of phase: no line of a flow's own. 7 Mbit/s and 40 packets at 33, 34 and 35 ms, 20 Mbit/s and
# 50 packets at 4 ms, where the simulator and the kernel were far apart before `settings = "linux"`.
for rate in ("7M", "20M"):
    lines = ["flow.first.access.delay=0ms", "flow.second.access.delay=0ms"]
    changes = [f"link.bottleneck.rate={rate}bit/s", *lines]
    name = f"phase-{rate}"
    figure.run(measure, name=name, scenario="tfrc.toml", rows=[f"tfrc/*/{name}/*"], set=changes)
figure.columns("share", "utilization", "queue_ms", "loss")

# The lateness of this machine's hosts, fitted on tfrc/cubic at 40 and 120 ms with one product, judged on
# these rows.
figure.variant(
    "late-hosts",
    "explains: a kernel's host is late by tens of microseconds",
    ["flow.first.overhead=emu-vm-6.18", "flow.second.overhead=emu-vm-6.18"],
    rows=["*/bbr/10ms/1BDP/*", "tfrc/*/120ms/4BDP/*", "tfrc/*/phase-7M/*", "tfrc/*/phase-20M/*"],
    runs=10,
)

near_kernel(figure, "In four of five rows the simulated share of the first flow", "share", 0.25, least=0.8)
near_kernel(figure, "In nine of ten rows the simulated utilisation", "utilization", 0.1, least=0.9)

# A panel for each pair and queue; the kernel's side. Nothing is published.
figure.curves("share", x="rtt", by=["first", "second", "queue"], xlabel="round-trip time", world="emu")
