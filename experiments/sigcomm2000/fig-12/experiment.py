from paper import SCALES, SCRIPTS, place, sources, vary

figure = sources(
    place(12, SCRIPTS), "Equivalence of one TCP and one TFRC flow beside on/off sources, by time scale"
)
COLUMNS = {f"at_{scale}s": scale for scale in SCALES}


@figure.run
def background(run):
    found = {name: run.equivalence("tcp", "tfrc", scale) for name, scale in COLUMNS.items()}
    return {**found, "loss": run.link("bottleneck", "drop_rate")}


figure.columns(*COLUMNS, read_off=0.005)
figure.columns("loss")

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
vary(figure, "as-described", "ns-2.35", "min-rto-1s", "ns2-rules", rows=["130/26"], runs=2)
vary(figure, "max-rto-long", rows=["130/26", "150/30"], runs=8)

# A curve for each of the numbers of sources, as the report has them.
figure.across("at_", xlabel="time scale, s", ylabel="equivalence ratio", ylim=(0, 1), log="x")
