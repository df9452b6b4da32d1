from tfrc.lab import Experiment, Paper, Quick, SeedRule

# The rule of seeds was fixed before the results were seen (docs/experiments.md).
figure = Experiment(
    Paper(
        "Bansal, Balakrishnan, Floyd and Shenker, SIGCOMM 2001",
        seeds=SeedRule(least=10, most=400, hops=300e6, part=3),
        holds="A joining flow gets its share, and TFRC does not gain on TCP while the bandwidth swings.",
    ),
    "as cited by Grieco and Mascolo 2004",
    "A flow that joins, and fairness while the bandwidth changes",
    keys={"case": ["flow.cbr.on", "flow.cbr.off"]},
    quick=Quick(3, rows=["joining", "1s", "10s"]),
)
# The flows of the scenario of the joining flow are TFRC.
SACK = ["kind=tcp", "segment=960B", "header=40B", "tcp.variant=sack", "tcp.window=5000"]
SETTINGS = {"tcp": SACK, "tfrc": []}
NS2 = {"tcp": "tcp.settings=ns2", "tfrc": "tfrc.revision=ns2"}
# Of packets of 1000 bytes TCP's carry 960 and TFRC's 968: what a goodput is in the latter.
PACKET = {"tcp": 968 / 960, "tfrc": 1.0}
# Seconds of the run; the new flow joins at 60 s.
TIMES = {"10s": (60, 70), "30s": (80, 90), "long": (120, 240)}
OSCILLATING = ["200ms", "1s", "10s", "30s"]

for new, old in ("tcp", "tcp"), ("tcp", "tfrc"), ("tfrc", "tcp"), ("tfrc", "tfrc"):
    name, kinds = f"{new}_joins_{old}", {"new": new, "old": old}

    @figure.run(
        name=name,
        scenario="joining.toml",
        rows=["joining"],
        keys={},
        set=[f"flow.{flow}.{change}" for flow, kind in kinds.items() for change in SETTINGS[kind]],
        profiles={"as-published": [f"flow.{flow}.{NS2[kind]}" for flow, kind in kinds.items()]},
    )
    def joining(run, name=name, kinds=kinds):
        """The share of the new flow."""
        shares = {}
        for column, times in TIMES.items():
            rates = {flow: run.goodput(flow, *times) * PACKET[kind] for flow, kind in kinds.items()}
            shares[f"{name}_{column}"] = rates["new"] / sum(rates.values())
        return shares

    figure.columns(*(f"{name}_{column}" for column in TIMES), run=name, rows=["joining"])


@figure.run(
    scenario="oscillating.toml",
    rows=OSCILLATING,
    profiles={
        "as-published": [*(f"flow.{kind}.{one}" for kind, one in NS2.items()), "flow.tcp.tcp.window=5000"],
    },
)
def oscillating(run):
    tfrc, tcp = run.flow("tfrc", "goodput_bps"), run.flow("tcp", "goodput_bps") * PACKET["tcp"]
    return {"tfrc_over_tcp": tfrc / tcp, "tfrc_spread": run.spread("tfrc", "goodput_bps")}


figure.columns("tfrc_over_tcp", "tfrc_spread", run="oscillating", rows=OSCILLATING)

figure.claim("One congested link: a TFRC flow that joins another gets half in the end")(
    lambda t: t["joining", "tfrc_joins_tfrc_long"], between=(0.4, 0.6)
)
figure.claim("Beside a TCP it also gets about half, a factor of two either way")(
    lambda t: t["joining", "tfrc_joins_tcp_long"], between=(0.33, 0.67)
)
figure.claim("So does a TCP that joins a TFRC flow: one bottleneck does not starve it")(
    lambda t: t["joining", "tcp_joins_tfrc_long"], between=(0.33, 0.67)
)
figure.claim("The joining TFRC flow has come to a third or more within half a minute")(
    lambda t: t["joining", "tfrc_joins_tfrc_30s"], between=(0.33, 0.7)
)
figure.claim(
    "A TCP that joins TFRC is not slower to its share than one that joins TCP: share of the first ten seconds"
)(lambda t: t["joining", "tcp_joins_tfrc_10s"] / t["joining", "tcp_joins_tcp_10s"], between=(0.6, 2.0))
figure.claim("While the bandwidth swings every few seconds TFRC does not get more than TCP: 1 s on, 1 s off")(
    lambda t: t["1s", "tfrc_over_tcp"], between=(0.3, 1.1)
)
figure.claim("nor at 10 s on, 10 s off", lambda t: t["10s", "tfrc_over_tcp"], between=(0.3, 1.1))
figure.claim(
    "When it swings faster than the round-trip times tell, "
    "they share evenly within a factor of one and a half: 200 ms"
)(lambda t: t["200ms", "tfrc_over_tcp"], between=(0.67, 1.5))
