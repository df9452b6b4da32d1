from paper import INTERNET_SCALES, PATHS, SOLARIS, internet, place

figure = internet(place(16), "Equivalence of TCP and TFRC on Internet paths, by time scale")
COLUMNS = {f"at_{scale}s": scale for scale in INTERNET_SCALES}


@figure.run
def path(run):
    return {name: run.equivalence("tcp-1", "tfrc", scale) for name, scale in COLUMNS.items()}


figure.columns(*COLUMNS, read_off=0.01)

for name, row in PATHS.items():
    figure.claim(f"{name}: the equivalence at 1 s is 0.6 to 0.9, give or take 0.05")(
        lambda t, row=row: t[row, "at_1s"], between=(0.55, 0.95)
    )
figure.claim("UCL: the equivalence is higher at 60 s than at 0.4 s")(
    lambda t: t["UCL/*", "at_60s"] / t["UCL/*", "at_0.4s"], between=(1.0, 1.6)
)
figure.claim("UMass (Solaris): 0.5 to 0.65, below UMass (Linux), for a defect of its TCP")(
    lambda t: t["UMASS_Solaris/*", "at_1s"] / t["UMASS_Linux/*", "at_1s"],
    between=(0.5, 0.97),
    undecidable=SOLARIS,
)

# A curve for each of the paths, as the report has them.
figure.across(
    "at_", xlabel="time scale, s", ylabel="equivalence ratio", ylim=(0, 1), log="x", world="emu"
)
