from dataclasses import replace

from paper import ONE_FLOW, PAIRS, PAPER, SCRIPTS, vary

from tfrc.lab import Experiment, Quick

LOW, HIGH = "8/*", "64/*"
# Kinds of TCP, with their columns.
TCPS = {"sack": "TCP", "reno": "reno", "tahoe": "tahoe"}
figure = Experiment(
    replace(PAPER, source="Floyd et al., SIGCOMM 2000"),
    f"Figure 8, and its slides; {SCRIPTS}",
    "Variation of throughput across flows against the loss rate",
    scenario="../pairs.toml",
    keys=PAIRS,
    quick=Quick(2, ["duration=60s"], [LOW, HIGH]),
    profiles=ONE_FLOW,
    rfc_runs=2,
)
for kind, column in TCPS.items():
    fine_timers = ["flow.tcp.tcp.tick=10ms"] if kind == "sack" else []

    @figure.run(name=kind, set=[f"flow.tcp.tcp.variant={kind}", *fine_timers])
    def measure(run, kind=kind, column=column):
        return {
            column: run.spread("tcp", "send_rate_bps"),
            f"TFRC_beside_{kind}": run.spread("tfrc", "send_rate_bps"),
            "drop_rate": run.link("bottleneck", "drop_rate"),
        }

    figure.columns(column, f"TFRC_beside_{kind}", run=kind)
figure.columns("drop_rate", run="sack")

figure.claim("The variation across TFRC flows rises with the loss rate")(
    lambda t: t[HIGH, "TFRC_beside_sack"] / t[LOW, "TFRC_beside_sack"], between=(1.2, 6)
)
figure.claim("That across Reno flows too", lambda t: t[HIGH, "reno"] / t[LOW, "reno"], between=(1.2, 10))
figure.claim("Above typical loss rates TFRC is less fair among its flows than SACK TCP with fine timers")(
    lambda t: t[HIGH, "TFRC_beside_sack"] / t[HIGH, "TCP"], between=(1.05, 4)
)
figure.claim("At low loss rates it is about as fair")(
    lambda t: t[LOW, "TFRC_beside_sack"] / t[LOW, "TCP"], between=(0.6, 1.5)
)
figure.claim("SACK with fine timers is fairer than Reno at high loss rates")(
    lambda t: t[HIGH, "TCP"] / t[HIGH, "reno"], between=(0.1, 1.0)
)
figure.claim("Tahoe and Reno are alike", lambda t: t[HIGH, "tahoe"] / t[HIGH, "reno"], between=(0.5, 1.6))
vary(figure, "rtt-80-120ms", "ns2-rules", rows=[LOW, HIGH], only=["sack"])
