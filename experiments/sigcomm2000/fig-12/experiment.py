from paper import DRAWN, LOAD, NS2_RULES, SCALES, SCRIPTS, place, sources, vary

figure = sources(
    place(12, SCRIPTS),
    "Equivalence of one TCP and one TFRC flow beside on/off sources, by time scale",
    ns2_seeds=300,
)
COLUMNS = {f"at_{scale}s": scale for scale in SCALES}


@figure.run
def background(run):
    found = {name: run.equivalence("tcp", "tfrc", scale) for name, scale in COLUMNS.items()}
    return {**found, "loss": run.link("bottleneck", "drop_rate"), "source_bps": run.flow("onoff", "send_rate_bps")}


@figure.run(set=NS2_RULES, rows=["60/12", "100/20", "130/26", "150/30"])
def ns2_rules(run):
    found = background(run)
    return {LOAD.name: found[LOAD.name], **{f"ns2_{name}": value for name, value in found.items()}}


figure.columns(*COLUMNS, run="background", against="published", read_off=0.005, control=LOAD, **DRAWN)
# ns-2.35 has its own rules of TFRC alone.
of_ns2 = {"run": "ns2_rules", "against": "ns2", "prefix": "ns2_"}
figure.columns(*(f"ns2_{name}" for name in COLUMNS), control=LOAD, **of_ns2)
figure.columns("loss", run="background")

figure.claim("At low loss the equivalence is 0.6 to 0.85 from 0.4 to 100 s: the least (0.55 to 0.75)")(
    lambda t: t["60/12", "at_0.4s"], between=(0.55, 0.75)
)
figure.claim("and the most (0.7 to 0.92)", lambda t: t["60/12", "at_100s"], between=(0.7, 0.92))
figure.claim("It falls with the loss rate on short time scales")(
    lambda t: t["150/30", "at_0.4s"] / t["60/12", "at_0.4s"], between=(0.005, 0.2)
)
figure.claim("and is still a good part of that at low loss on long ones")(
    lambda t: t["150/30", "at_100s"] / t["60/12", "at_100s"], between=(0.2, 0.7)
)
figure.claim("It grows with the time scale")(
    lambda t: t["130/26", "at_100s"] / t["130/26", "at_0.4s"], between=(2, 12)
)
alone = {"only": ["background"]}
vary(figure, "as-described", "ns-2.35", "min-rto-1s", rows=["130/26"], runs=2, **alone)
vary(figure, "max-rto-60s", rows=["130/26", "150/30"], runs=8, **alone)

# A curve for each of the numbers of sources, as the report has them.
figure.across("at_", xlabel="time scale, s", ylabel="equivalence ratio", ylim=(0, 1), log="x")
