import statistics

from paper import BOTH_KINDS, NS2_RULES, PAIRS, PAPER, SCRIPTS, place, share

from tfrc.lab import Emulation, Experiment, Quick

LINE = {"link_rate": ["link.bottleneck.rate"], **PAIRS}
RED = {
    "queue": ["link.bottleneck.queue.red.limit"],
    "drop_tail": ["link.bottleneck.reverse.queue"],
    "red_min": ["link.bottleneck.queue.red.min"],
    "red_max": ["link.bottleneck.queue.red.max"],
}
DROP_TAIL = {"drop_tail": ["link.bottleneck.queue", "link.bottleneck.reverse.queue"]}

figure = Experiment(
    PAPER,
    place(6, SCRIPTS),
    "Normalised TCP throughput beside as many TFRC flows, against link rate and number of flows",
    scenario="../pairs.toml",
    keys={**LINE, **RED},
    quick=Quick(1, ["duration=60s"], ["1Mbit/s/4/*", "8Mbit/s/8/*", "32Mbit/s/4/*"]),
    profiles=BOTH_KINDS,
    rfc_runs=1,
    # The kernel's Reno with selective acknowledgements, in three of the 112 cells.
    emulation=Emulation(
        runs=3,
        rows=["8Mbit/s/8/*", "1Mbit/s/4/*", "32Mbit/s/4/*"],
        only=["drop-tail", "red"],
        set=["flow.back.tcp={ variant = 'sack', window = 20 }"],
    ),
)
for queue, name, keys in (("DropTail", "drop-tail", DROP_TAIL), ("RED", "red", RED)):

    @figure.run(name=name, keys={**LINE, **keys})
    def measure(run, queue=queue):
        line = run.number("link_rate")
        return {
            queue: share(run, "tcp", line),
            f"{queue}_TFRC": share(run, "tfrc", line),
            f"{queue}_utilization": run.link("bottleneck", "utilization"),
            f"{queue}_drop_rate": run.link("bottleneck", "drop_rate"),
        }

    figure.columns(queue, run=name, against="published", read_off=0.02)
    # ns-2.35 has its own rules of TFRC alone.
    low = [f"{rate}Mbit/s/*" for rate in (1, 2, 4, 8, 16)]

    @figure.run(name=f"{name}-ns2-rules", set=NS2_RULES, rows=low, keys={**LINE, **keys})
    def ns2_rules(run, queue=queue):
        return {f"ns2_{queue}": share(run, "tcp", run.number("link_rate"))}

    figure.columns(f"ns2_{queue}", run=f"{name}-ns2-rules", against="ns2", prefix="ns2_")
    figure.columns(f"{queue}_TFRC", f"{queue}_utilization", run=name)
figure.columns("RED_drop_rate", run="red")

figure.claim("The link is always used to more than 90 %: the least with DropTail")(
    lambda t: t.of("DropTail_utilization", min), between=(0.9, 1.001)
)
figure.claim("and with RED", lambda t: t.of("RED_utilization", min), between=(0.9, 1.001))
figure.claim("often to more than 99 %: the median (0.985 and more)")(
    lambda t: t.of("DropTail_utilization", statistics.median), between=(0.985, 1.001)
)
figure.claim("Mostly TCP gets about its share: the median with RED")(
    lambda t: t.of("RED", statistics.median), between=(0.85, 1.1)
)
figure.claim("and with DropTail", lambda t: t.of("DropTail", statistics.median), between=(0.85, 1.1))
figure.claim("TCP suffers where its window is tiny: 8 flows at 1 Mbit/s with DropTail get about half")(
    lambda t: t["1Mbit/s/4/*", "DropTail"], between=(0.3, 0.75)
)
figure.claim("With DropTail and two flows at 32 Mbit/s TCP gets more than its share")(
    lambda t: t["32Mbit/s/1/*", "DropTail"], between=(1.1, 1.75)
)
figure.claim("RED is fairer: two flows at 32 Mbit/s are nearer to their share than with DropTail")(
    lambda t: abs(t["32Mbit/s/1/*", "RED"] - 1) - abs(t["32Mbit/s/1/*", "DropTail"] - 1),
    between=(-0.8, -0.05),
)

# Cuts through the report's surfaces, at each rate of the link.
figure.curves(
    "DropTail", "RED", by=["link_rate"], x="flows_of_each", xlabel="TCP flows, beside as many TFRC flows",
    ylabel="normalised TCP throughput", ylim=(0, 1.5), log="x",
)  # fmt: skip
