import statistics

from paper import NS2_RULES, ONE_FLOW, PAPER, SCRIPT, place, rtts_to_halve, vary

from tfrc.lab import Experiment, Quick

figure = Experiment(
    PAPER,
    place(21, SCRIPT),
    "Round-trip times to halve the rate, against the loss rate before",
    scenario="../drops.toml",
    # The time of the authors' script.
    set=["duration=20s"],
    keys={"initial_packet_drop_rate": [], "point": [], "every": ["link.path.loss.2.periodic.0.every"]},
    quick=Quick(2),
    profiles=ONE_FLOW,
)


# The print is one run at the phase of the authors' script. Here the flow starts at a random time and the
# script's drop of packet 10 is left out, so that the mean is over all phases of the periodic drops.
RANDOM_PHASE = [
    "flow.tfrc.start=uniform 0s 400ms",
    "link.path.loss.0.scripted=[]",
    "link.path.loss.2.periodic.0.at=0s",
]


@figure.run(set=RANDOM_PHASE, keep=["looks"])
def phases(run):
    return {"rtts_to_halve_rate": rtts_to_halve(run)}


@figure.run(set=NS2_RULES, keep=["looks"])
def ns2_rules(run):
    return {"ns2_rtts_to_halve_rate": rtts_to_halve(run)}


figure.columns("rtts_to_halve_rate", run="phases", against="published", printed_runs=1)
# ns-2.35 has its own rules of TFRC alone; its phase is that of the script.
figure.columns("ns2_rtts_to_halve_rate", run="ns2_rules", against="ns2", prefix="ns2_")


def mean(*rows):
    """The mean over rows."""
    return lambda t: statistics.mean(t[row, "rtts_to_halve_rate"] for row in rows)


figure.claim("TFRC halves its rate in 3 to 8 round-trip times: the least (3 to 6; the print is whole)")(
    lambda t: t.of("rtts_to_halve_rate", min), between=(3, 6)
)
figure.claim("and the most (5 to 8.5)", lambda t: t.of("rtts_to_halve_rate", max), between=(5, 8.5))
figure.claim("At low loss rates it takes 5 to 6 (4.5 to 6.6)")(
    mean("0.005/8/200", "0.01/10/100", "0.02/19/50"), between=(4.5, 6.6)
)
figure.claim("RFC 5348 at low loss rates as well")(
    mean("0.005/8/200", "0.01/10/100"), between=(4, 8), profile="rfc"
)

high = ["0.111/30/9", "0.125/31/8", "0.167/33/6", "0.2001/34/5", "0.25/35/4"]
rows = ["0.01/10/100", "0.029/22/34", *high]
SCRIPT_PHASE = [
    "flow.tfrc.start=0s",
    "link.path.loss.0.scripted=[10]",
    "link.path.loss.2.periodic.0.at=0.455s",
]
figure.variant(
    "script", "explains: the one phase of the authors' script", SCRIPT_PHASE, rows=rows, only=["phases"], runs=2  # nothing is random
)
vary(figure, "arrival-reports", rows=["0.01/10/100", *high], only=["phases"], runs=20)

# Against the loss rate before, as the report has it.
figure.curves(
    "rtts_to_halve_rate", xlabel="packet drop rate before", ylabel="RTTs to halve the rate", log=""
)
