from paper import kernel, mbps, near_kernel, queue_ms, through

figure = kernel(
    "Linux's Reno, CUBIC and BBR alone through twenty bottlenecks: simulated, and the kernel's",
    {
        "tcp": ["flow.tcp.tcp.variant"],
        "rtt": ["link.bottleneck.delay"],
        "queue": [],
        "room": ["link.bottleneck.queue"],
        "time": ["duration"],
    },
    quick=["*/40ms/1BDP/*"],
)


def measure(run):
    loss = run.link("bottleneck", "drop_rate")
    return {"goodput_mbps": mbps(run, "tcp"), "queue_ms": queue_ms(run), "loss": loss}


for queue, rows in ("drop-tail", ["*BDP/*"]), ("red", ["*/red/*"]), ("codel", ["*/codel/*"]):
    figure.run(measure, name=queue, rows=rows, **through(figure, queue))
figure.columns("goodput_mbps", "queue_ms", "loss")

# The lateness of this machine's hosts, fitted on two rows of kernel/pairs, judged on these.
figure.variant(
    "late-hosts",
    "explains: a kernel's host is late by tens of microseconds",
    ["flow.tcp.overhead=emu-vm-6.18"],
    rows=["*/10ms/0.25BDP/*", "*/10ms/1BDP/*"],
    runs=10,
)

near_kernel(figure, "In nine of ten rows the simulated goodput", "goodput_mbps", 0.1, least=0.9)
near_kernel(figure, "In four of five rows the simulated mean wait in the queue", "queue_ms", 0.25, least=0.8)

# A panel for each TCP and queue; the kernel's side. Nothing is published.
figure.curves("goodput_mbps", x="rtt", by=["tcp", "queue"], xlabel="round-trip time", world="emu")
