from paper import kernel, mbps, near_kernel, queue_ms, share

figure = kernel(
    "Linux's BBR over buffers, alone, next to CUBIC and next to TFRC: simulated, and the kernel's",
    {"peer": [], "buffer": [], "room": ["link.bottleneck.queue"]},
    quick=["*/1BDP/*"],
)
ALONE, PAIR, TFRC = ["none/*"], ["cubic/*"], ["tfrc/*"]


def queue_and_loss(run):
    return {"queue_ms": queue_ms(run), "loss": run.link("bottleneck", "drop_rate")}


@figure.run(scenario="alone.toml", rows=ALONE)
def alone(run):
    return {"alone_mbps": mbps(run, "bbr"), **queue_and_loss(run)}


@figure.run(scenario="pair.toml", rows=PAIR)
def pair(run):
    return {"share": share(run, "bbr", "cubic"), **queue_and_loss(run)}


@figure.run(scenario="tfrc.toml", rows=TFRC)
def tfrc(run):
    return {"share_tfrc": share(run, "bbr", "tfrc"), **queue_and_loss(run)}


figure.columns("alone_mbps", run="alone", rows=ALONE)
figure.columns("queue_ms", "loss")
figure.columns("share", run="pair", rows=PAIR)
figure.columns("share_tfrc", run="tfrc", rows=TFRC)

near_kernel(figure, "In three of four rows the simulated share next to CUBIC", "share", 0.25, least=0.75)
near_kernel(figure, "In each row the simulated goodput of BBR alone", "alone_mbps", 0.1, least=1)
# The rows next to TFRC are a curve over the buffer, because the share changes steeply there; they and their band
# were added after the others were recorded, and before a run of theirs.
near_kernel(figure, "In five of seven rows the simulated share next to TFRC", "share_tfrc", 0.25, least=5 / 7)
near_kernel(figure, "In three of four rows the simulated mean wait in the queue", "queue_ms", 0.25, least=0.75)

# The kernel's side. Nothing is published.
figure.curves("share_tfrc", x="buffer", xlabel="buffer", ylabel="BBR's share next to TFRC", ylim=(0, 1), world="emu")
figure.curves("share", x="buffer", xlabel="buffer", ylabel="BBR's share next to CUBIC", ylim=(0, 1), world="emu")
figure.curves("queue_ms", x="buffer", xlabel="buffer", ylabel="mean wait next to TFRC, ms", world="emu", rows="tfrc/*")
figure.curves("loss", x="buffer", xlabel="buffer", ylabel="packet loss next to TFRC", world="emu", rows="tfrc/*")
