from paper import kernel, mbps, near_kernel, queue_ms, share

figure = kernel(
    "Linux's Reno, CUBIC and BBR where packets are late, alone and next to TFRC: simulated, and the kernel's",
    {
        "peer": [],
        "tcp": ["flow.tcp.tcp.variant"],
        "late": ["link.bottleneck.reorder.extra"],
        "share": ["link.bottleneck.reorder.share"],
    },
    quick=["*/cubic/*/1%"],
    quick_emulated=["none/cubic/20ms/1%"],
)
ALONE, PAIR = ["none/*"], ["tfrc/*"]


def of_link(run):
    return {"utilization": run.link("bottleneck", "utilization"), "queue_ms": queue_ms(run)}


@figure.run(scenario="alone.toml", rows=ALONE)
def alone(run):
    return {"goodput_mbps": mbps(run, "tcp"), **of_link(run)}


@figure.run(scenario="pair.toml", rows=PAIR)
def pair(run):
    return {"tfrc_share": share(run, "tfrc", "tcp"), **of_link(run)}


figure.columns("goodput_mbps", run="alone", rows=ALONE)
figure.columns("tfrc_share", run="pair", rows=PAIR)
figure.columns("utilization", "queue_ms")

near_kernel(figure, "In nine of ten rows of one TCP the simulated goodput", "goodput_mbps", 0.1, least=0.9)
near_kernel(
    figure, "In four of five rows next to TFRC the simulated share of TFRC", "tfrc_share", 0.25, least=0.8
)

# A panel for each TCP, peer and lateness; the kernel's side. Nothing is published.
figure.curves(
    "utilization", x="share", by=["peer", "tcp", "late"], xlabel="share of late packets", world="emu",
)  # fmt: skip
