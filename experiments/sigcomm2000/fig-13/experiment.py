from paper import DRAWN, LOAD, NS2_RULES, SCALES, SCRIPTS, place, sources, vary

figure = sources(
    place(13, SCRIPTS),
    "Variation of one TCP and one TFRC flow beside on/off sources, by time scale",
    ns2_seeds=300,
)
COLUMNS = {f"{kind}_{scale}s": (kind.lower(), scale) for kind in ("TFRC", "TCP") for scale in SCALES}


@figure.run
def background(run):
    found = {name: run.cov(*of) for name, of in COLUMNS.items()}
    return {**found, "loss": run.link("bottleneck", "drop_rate"), "source_bps": run.flow("onoff", "send_rate_bps")}


@figure.run(set=NS2_RULES, rows=["60/12", "100/20", "130/26", "150/30"])
def ns2_rules(run):
    found = background(run)
    return {LOAD.name: found[LOAD.name], **{f"ns2_{name}": value for name, value in found.items()}}


# ns-2.35 has its own rules of TFRC alone.
of_ns2 = {"run": "ns2_rules", "against": "ns2", "prefix": "ns2_"}
for kind, control in (("TFRC", LOAD), ("TCP", None)):
    names = [name for name in COLUMNS if name.startswith(kind)]
    figure.columns(*names, run="background", against="published", read_off=0.1, control=control, **DRAWN)
    figure.columns(*(f"ns2_{name}" for name in names), control=control, **of_ns2)
figure.columns("loss", run="background")


def over_tcp(t, row):
    """TFRC's variation over TCP's at 0.4 s."""
    return t[row, "TFRC_0.4s"] / t[row, "TCP_0.4s"]


for count, low, high in ((60, 0.4, 0.7), (100, 0.35, 0.75), (130, 0.1, 0.6), (150, 0.1, 0.5)):
    figure.claim(f"TFRC varies far less than TCP at {count} sources ({low} to {high} of it at 0.4 s)")(
        lambda t, count=count: over_tcp(t, f"{count}/*"), between=(low, high)
    )
figure.claim("especially at high loss rates")(
    lambda t: over_tcp(t, "150/*") / over_tcp(t, "60/*"), between=(0.2, 0.95)
)
figure.claim("The variation of TFRC rises with the number of sources")(
    lambda t: t["150/*", "TFRC_0.4s"] / t["60/*", "TFRC_0.4s"], between=(4, 20)
)

busy = {"rows": ["130/26", "150/30"], "runs": 8, "only": ["background"]}
vary(figure, "max-rto-60s", **busy)
figure.variant(
    "history-of-4",
    "explains: a history of four intervals, which no text names, as a measure of what would have to differ",
    ["flow.tfrc.tfrc={ revision = 'sigcomm2000', intervals = 4 }"],
    **busy,
)
figure.variant(
    "rto-at-least-1s",
    "explains: t_RTO of at least 1 s in the equation, which no text names, as another measure",
    ["flow.tfrc.tfrc={ revision = 'sigcomm2000', rto = 'four-rtt-at-least' }"],
    **busy,
)

# A curve for each of the numbers of sources, as the report has them.
for kind in ("TFRC", "TCP"):
    figure.across(f"{kind}_", xlabel="time scale, s", ylabel=f"coefficient of variation of {kind}", log="x")
