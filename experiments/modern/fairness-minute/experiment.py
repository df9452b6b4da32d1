from paper import QUEUE, kernel

from tfrc.lab import Emulation, Quick

quick = Quick(1, ["duration=20s"], ["*/50ms/*"])
figure = kernel(
    "A minute next to Linux's CUBIC, before and after the profile: simulated, and the kernel's",
    keys={
        "profile": ["flow.tfrc.tfrc.profile"],
        "friend": ["flow.tfrc.tfrc.friend"],
        "rtt": ["link.bottleneck.delay"],
        "room": [QUEUE],
    },
    # Ten runs of each row in both worlds, fixed before any was made.
    runs=10,
    quick=quick,
    emulation=Emulation(runs=10, quick=quick),
)


@figure.run(
    scenario="../fairness-kernel/scenario.toml",
    set=[
        "duration=70s",
        "link.bottleneck.rate=10Mbit/s",
        "flow.tcp.tcp.variant=cubic",
        # The time of a packet at 10 Mbit/s is 1.2 ms.
        "flow.tcp.access.delay=uniform 0ms 1.2ms",
        "flow.tfrc.access.delay=uniform 0ms 1.2ms",
    ],
)
def cubic(run):
    tfrc, tcp = (run.flow(name, "goodput_bps") for name in ("tfrc", "tcp"))
    return {"share": tfrc / (tfrc + tcp), "utilization": run.link("bottleneck", "utilization")}


figure.columns("share", "utilization")

figure.claim(
    "The simulated share of TFRC is within 25 % of the kernel's, or as near to it as the kernel's own runs, "
    "in four of five rows"
)(lambda t: t.inside("share", 0.25), between=(0.8, 1))
figure.claim(
    "In all rows the simulated utilisation is within 10 % of the kernel's, "
    "or as near to it as the kernel's own runs"
)(lambda t: t.inside("utilization", 0.1), between=(1, 1))
