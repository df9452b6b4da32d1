from paper import INTERNET_SCALES, PATHS, SOLARIS, internet, place

figure = internet(place(17), "Variation of TCP and TFRC on Internet paths, by time scale")
COLUMNS = {f"{kind}_{scale}s": (kind.lower(), scale) for kind in ("TFRC", "TCP") for scale in INTERNET_SCALES}


@figure.run
def path(run):
    return {name: run.cov(*of) for name, of in COLUMNS.items()}


figure.columns(*COLUMNS, read_off=0.01)

for name, row in PATHS.items():
    figure.claim(f"{name}: TFRC varies less than TCP at 1 s")(
        lambda t, row=row: t[row, "TFRC_1s"] / t[row, "TCP_1s"], between=(0.1, 0.9)
    )
figure.claim("UMass (Solaris): TCP varies more than at UMass (Linux), for a defect of its TCP")(
    lambda t: t["UMASS_Solaris/*", "TCP_1s"] / t["UMASS_Linux/*", "TCP_1s"],
    between=(1.05, 2),
    undecidable=SOLARIS,
)

# A curve for each of the paths, as the report has them.
for kind in ("TFRC", "TCP"):
    variation = f"coefficient of variation of {kind}"
    figure.across(f"{kind}_", xlabel="time scale, s", ylabel=variation, log="x", world="emu")
