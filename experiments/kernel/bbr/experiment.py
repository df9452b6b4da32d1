from paper import kernel, mbps, near_kernel, queue_ms, share

figure = kernel(
    "Linux's BBR over four buffers, alone and next to CUBIC: simulated, and the kernel's",
    {"peer": [], "buffer": [], "room": ["link.bottleneck.queue"]},
    quick=["*/1BDP/*"],
)
ALONE, PAIR = ["none/*"], ["cubic/*"]


def queue_and_loss(run):
    return {"queue_ms": queue_ms(run), "loss": run.link("bottleneck", "drop_rate")}


@figure.run(scenario="alone.toml", rows=ALONE)
def alone(run):
    return {"alone_mbps": mbps(run, "bbr"), **queue_and_loss(run)}


@figure.run(scenario="pair.toml", rows=PAIR)
def pair(run):
    return {"share": share(run, "bbr", "cubic"), **queue_and_loss(run)}


figure.columns("alone_mbps", run="alone", rows=ALONE)
figure.columns("queue_ms", "loss")
figure.columns("share", run="pair", rows=PAIR)

near_kernel(figure, "In three of four rows the simulated share next to CUBIC", "share", 0.25, least=0.75)
near_kernel(figure, "In each row the simulated goodput of BBR alone", "alone_mbps", 0.1, least=1)
near_kernel(figure, "In six of eight rows the simulated mean wait in the queue", "queue_ms", 0.25, least=0.75)

# A panel for each quantity; the kernel's side. Nothing is published.
figure.curves("loss", x="buffer", by=["peer"], xlabel="buffer", world="emu")
figure.curves("queue_ms", x="buffer", by=["peer"], xlabel="buffer", world="emu")
