from paper import PAPER

from tfrc.lab import Emulation, Experiment, Quick

figure = Experiment(
    PAPER,
    "Fig. 12",
    "Retransmission timeouts of TFRC, of a standard TCP and of Linux over paths of 5 to 500 ms",
    keys={"rtt": ["link.path.delay"]},
    world="emu",
    emulation=Emulation(runs=3, quick=Quick(1, ["duration=20s", "warmup=5s"], ["5ms", "500ms"])),
)


@figure.run
def path(run):
    return {
        "tfrc_rto_s": 4 * run.flow("tfrc", "rtt_s"),
        "standard_rto_s": max(1.0, run.flow("tcp", "srtt_s") + 4 * run.flow("tcp", "rttvar_s")),
        "linux_rto_s": run.flow("tcp", "rto_s"),
        "srtt_s": run.flow("tcp", "srtt_s"),
    }


figure.columns("tfrc_rto_s", "standard_rto_s", "linux_rto_s", "srtt_s")

figure.claim("On short paths TFRC's timeout is far below the standard's: at 10 ms by five or more")(
    lambda t: t["10ms", "standard_rto_s"] / t["10ms", "tfrc_rto_s"], between=(5, 50)
)
figure.claim("On long paths it is above the standard's: at 500 ms")(
    lambda t: t["500ms", "tfrc_rto_s"] / t["500ms", "standard_rto_s"], between=(1.1, 4)
)
figure.claim("On long paths it is well above Linux's: at 500 ms")(
    lambda t: t["500ms", "tfrc_rto_s"] / t["500ms", "linux_rto_s"], between=(1.5, 4)
)
figure.claim("Linux follows the round-trip time above 200 ms: from 200 ms to 500 ms")(
    lambda t: t["500ms", "linux_rto_s"] / t["200ms", "linux_rto_s"], between=(1.3, 2.5)
)
figure.claim("Below, its least timeout of 200 ms shows: 5 ms and 20 ms differ little")(
    lambda t: t["20ms", "linux_rto_s"] / t["5ms", "linux_rto_s"], between=(0.9, 1.25)
)

# The three timeouts in one drawing.
figure.curves(
    "tfrc_rto_s", "standard_rto_s", "linux_rto_s",
    xlabel="round-trip time, s", ylabel="retransmission timeout, s", log="xy", world="emu",
)  # fmt: skip
