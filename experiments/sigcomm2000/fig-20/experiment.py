from paper import NS2_RULES, ONE_FLOW, PAPER, PHASES, SCRIPT, place, rtts_to_halve, vary

from tfrc.lab import Experiment, Quick

figure = Experiment(
    PAPER,
    place(20, SCRIPT),
    "Fall of the allowed rate under persistent congestion",
    scenario="../drops.toml",
    keys={"time_s": []},
    deterministic=True,
    quick=Quick(2),
    profiles=ONE_FLOW,
)


@figure.run(keep=["looks"])
def flow(run):
    return {
        "allowed_rate_kBps": run.state("tfrc", "allowed_bps", run.number("time_s")) / 8000,
        "rtts_to_halve": rtts_to_halve(run),
    }


@figure.run(set=NS2_RULES, keep=["looks"])
def ns2_rules(run):
    return {f"ns2_{name}": value for name, value in flow(run).items()}


plateau = (
    lambda measured, published, ns2: published > 139.5,
    "the plateau before the fall, where a flow that never slows down agrees as well",
)
figure.columns("allowed_rate_kBps", run="flow", against="published", read_off=0.3, uninformative=plateau)
# ns-2.35 has its own rules of TFRC alone.
figure.columns(
    "ns2_allowed_rate_kBps", run="ns2_rules", against="ns2", prefix="ns2_", uninformative=plateau
)
figure.columns("rtts_to_halve", run="flow", rows=["8"])

figure.claim("The rate halves in 5 round-trip times (4.5 to 7; 3 to 8 over all loss rates)")(
    lambda t: t["8", "rtts_to_halve"], between=(4.5, 7)
)
figure.claim("5 round-trip times after the change it is at half")(
    lambda t: t["10.501", "allowed_rate_kBps"] / t["9.461", "allowed_rate_kBps"], between=(0.4, 0.6)
)
figure.claim("It goes on falling: at 12 s less than 3 % of what it was")(
    lambda t: t["12.001", "allowed_rate_kBps"] / t["9.461", "allowed_rate_kBps"], between=(0.002, 0.03)
)
figure.claim("RFC 5348 needs no more than 8 round-trip times either")(
    lambda t: t["8", "rtts_to_halve"], between=(3, 8), profile="rfc"
)

figure.variant(
    "phases",
    PHASES,
    [
        "flow.tfrc.start=uniform 0s 400ms",
        "link.path.loss={ periodic = [{ at = '0s', every = 100 }, { at = '10s', every = 2 }] }",
    ],
    rows=["10.24", "10.501", "10.91", "11.151", "12.001"],
    only=["flow"],
    runs=20,
)
fall = ["10.24", "10.501", "10.791", "10.91", "11.151", "11.411", "12.001"]
vary(figure, "arrival-reports", rows=fall, only=["flow"], runs=2)

figure.curves("allowed_rate_kBps", xlabel="time, s", ylabel="allowed rate, kB/s")
