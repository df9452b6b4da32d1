from paper import LIMITS, PLACE, kernel, ratio_log2, through

from tfrc.lab import Emulation, Quick

quick = Quick(1, ["duration=20s"], ["*/2M/100ms/1BDP/1/1/rfc5348/*"])
figure = kernel(
    "TFRC's share next to Linux's Reno, CUBIC and BBR at 48 points of the map: simulated, and the kernel's",
    keys={**PLACE, "profile": ["flow.tfrc.tfrc.profile"], "friend": ["flow.tfrc.tfrc.friend"], **LIMITS},
    # Ten seeds of each row, and three runs of the kernel, fixed before any was made.
    runs=10,
    quick=quick,
    emulation=Emulation(runs=3, quick=quick),
)


def measure(run):
    ratio = ratio_log2(run)
    return {
        "rfc5348_log2": ratio,
        "balanced_log2": ratio,
        "utilization": run.link("bottleneck", "utilization"),
        "loss": run.link("bottleneck", "drop_rate"),
    }


# Delays of the flows' own lines within the time of a packet.
short = [f"flow.{flow}.access.delay=uniform 0ms 0.6ms" for flow in ("tcp", "tfrc")]
drop_tail = through(figure, "drop-tail")
figure.run(measure, name="drop-tail-2M", **{**drop_tail, "rows": ["*/2M/*BDP/*"]})
figure.run(measure, name="drop-tail-20M", **{**drop_tail, "rows": ["*/20M/*BDP/*"], "set": short})
figure.run(measure, name="red", **through(figure, "red"))
figure.run(measure, name="codel", **through(figure, "codel"))
for profile in ("rfc5348", "balanced"):
    figure.columns(f"{profile}_log2", rows=[f"*/{profile}/*"])
figure.columns("utilization", "loss")

figure.claim(
    "RFC 5348: at four of five points the simulated ratio is on the kernel's side of a factor of two: "
    "below, in or above"
)(lambda t: t.same_side("rfc5348_log2", 1), between=(0.8, 1))
figure.claim("The profile, told its friend: the same")(
    lambda t: t.same_side("balanced_log2", 1), between=(0.8, 1)
)
figure.claim(
    "In nine of ten rows the simulated utilisation is within 10 % of the kernel's, "
    "or as near to it as the kernel's own runs"
)(lambda t: t.inside("utilization", 0.1), between=(0.9, 1))
