from paper import SCRIPTS, mix, place, vary

figure = mix(place(9, SCRIPTS), "Equivalence ratio of two flows against the time scale")
PAIRS = {
    "TFRC_vs_TFRC": ("tfrc-1", "tfrc-2"),
    "TCP_vs_TCP": ("tcp-1", "tcp-2"),
    "TFRC_vs_TCP": ("tfrc-1", "tcp-1"),
}


@figure.run(name="mix")
def equivalence(run):
    scale = run.number("timescale_s")
    return {
        **{name: run.equivalence(*pair, scale) for name, pair in PAIRS.items()},
        "drop_rate": run.link("bottleneck", "drop_rate"),
        "utilization": run.link("bottleneck", "utilization"),
    }


figure.columns(*PAIRS, read_off=0.005)
figure.columns("drop_rate", "utilization", rows=["1"])

figure.claim(
    "Two TFRC flows are more alike than two TCP flows at every time scale: at 0.2 s by a quarter or more"
)(lambda t: t["0.2", "TFRC_vs_TFRC"] / t["0.2", "TCP_vs_TCP"], between=(1.25, 1.6))
figure.claim("At 10 s the three kinds of pairs are nearly equally alike")(
    lambda t: t["10", "TCP_vs_TCP"] / t["10", "TFRC_vs_TFRC"], between=(0.85, 1.05)
)
figure.claim("A TFRC and a TCP flow lie between")(
    lambda t: t["1", "TFRC_vs_TCP"] / ((t["1", "TFRC_vs_TFRC"] + t["1", "TCP_vs_TCP"]) / 2),
    between=(0.9, 1.05),
)
figure.claim(
    "The equivalence of TFRC and TCP holds over a broad range of time scales: 0.6 to 0.8 from 0.2 to 10 s"
)(lambda t: t["0.2", "TFRC_vs_TCP"] / t["10", "TFRC_vs_TCP"], between=(0.7, 0.95))
figure.claim("The report puts the loss rate of this mix at about 0.1 %")(
    lambda t: t["1", "drop_rate"],
    between=(0.0005, 0.003),
    evidence="32 flows share 15 Mbit/s with a round-trip time of 0.11 s: 6.6 packets each, which takes a "
    "loss of 1.5/6.6^2, about 3 %",
)
figure.claim("The link is used to more than 90 %", lambda t: t["1", "utilization"], between=(0.9, 1.0))

ENDS = {"rows": ["0.2", "10"], "runs": 4}
vary(figure, "ns-2.35", "ns2-rules", "min-rto-1s", **ENDS)
text = "explains: TCP without the up to 2 ms that the authors' script has it wait before it sends"
figure.variant("no-overhead", text, ["flow.tcp.overhead=0s"], **ENDS)

# The three kinds of pairs in one drawing, as the report has them.
figure.curves(*PAIRS, xlabel="time scale, s", ylabel="equivalence ratio", ylim=(0, 1), log="x")
