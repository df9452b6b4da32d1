from paper import ONE_FLOW, PAPER, place

from tfrc.lab import Emulation, Experiment, Quick

PATH = "London to Berkeley"
figure = Experiment(
    PAPER,
    place(15),
    "Three TCPs and one TFRC from London to Berkeley",
    world="emu",
    scenario="../internet.toml",
    # Three TCPs and a TFRC at about 60 kB/s each, from 60 s to 180 s (Figure 15). The path is assumed.
    set=["duration=180s"],
    keys={"case": []},
    profiles=ONE_FLOW,
    # The report's algorithm in a DCCP endpoint alongside the kernel's Reno with selective acknowledgements.
    emulation=Emulation(runs=3, profile="as-published", quick=Quick(1, ["duration=30s", "warmup=10s"])),
)


@figure.run
def path(run):
    return {
        "TFRC_kBps": run.flow("tfrc", "send_rate_bps") / 8000,
        "TCP_kBps": run.flow("tcp", "send_rate_bps") / 8000,
        "TFRC_cov": run.cov("tfrc", 1),
        "TCP_cov": run.cov("tcp", 1),
    }


figure.columns("TFRC_kBps", "TCP_kBps", "TFRC_cov", "TCP_cov")

figure.claim("TFRC is slightly below the mean of the TCPs")(
    lambda t: t[PATH, "TFRC_kBps"] / t[PATH, "TCP_kBps"], between=(0.6, 1.1)
)
figure.claim("and far smoother in bins of 1 s")(
    lambda t: t[PATH, "TFRC_cov"] / t[PATH, "TCP_cov"], between=(0.05, 0.6)
)
