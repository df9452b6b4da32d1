from paper import guarantees, network

from tfrc.lab import Quick

figure = network(
    "§3.4.1",
    "A guarantee set too high gains nothing and harms no traffic in profile",
    keys={"delay_1": ["link.last-1.delay"], "delay_2": ["link.last-2.delay"]},
    quick=Quick(6),
)
FAR_AND_NEAR = "300ms/0ms"


def goodputs(run, name=""):
    """The goodput of each flow over the whole run and over its second half."""
    flows, times = {"flow_1": "one", "flow_2": "two"}, {"average": (0, 100), "last_50s": (50, 100)}
    places = [(flow, time) for flow in flows for time in times]
    return {f"{name}{flow}_{time}_Kbps": run.goodput(flows[flow], *times[time]) / 1000 for flow, time in places}


@figure.run(set=guarantees("800kbit/s", "1Mbit/s"), keep=["link_flows"])
def cheat(run):
    return {
        **goodputs(run),
        "flow_2_in_profile": run.counts("edge", "two").in_profile_share,
        "flow_2_lost_out": run.counts("bottleneck", "two").out_profile_drop_rate,
        "flow_1_lost_in": run.counts("bottleneck", "one").in_profile_drop_rate,
        "flow_2_lost_in": run.counts("bottleneck", "two").in_profile_drop_rate,
    }


@figure.run(set=guarantees("800kbit/s", "200kbit/s"))
def honest(run):
    return goodputs(run, "honest_")


figure.columns("flow_1_average_Kbps", "flow_2_average_Kbps", run="cheat")
figure.columns("flow_1_last_50s_Kbps", "flow_2_last_50s_Kbps", run="cheat")
figure.columns("flow_2_in_profile", run="cheat", band="share")
figure.columns("flow_2_lost_out", run="cheat", band="drop")
# A rate: a hundredth more would be many times the reference.
figure.columns("flow_1_lost_in", "flow_2_lost_in", run="cheat", band="rate")
figure.columns("honest_flow_1_average_Kbps", run="honest")
figure.columns("honest_flow_1_last_50s_Kbps", "honest_flow_2_last_50s_Kbps", run="honest")

figure.claim(
    "The flow that asks for five times its target gets its target, no more, "
    "once the other has reached its own: far and near"
)(lambda t: t[FAR_AND_NEAR, "flow_2_last_50s_Kbps"] / 200, between=(0.95, 1.1))
figure.claim("The same at equal round-trip times")(
    lambda t: t["105ms/105ms", "flow_2_last_50s_Kbps"] / 200, between=(0.95, 1.1)
)
figure.claim("Asking for more gains nothing against asking for the target")(
    lambda t: t[FAR_AND_NEAR, "flow_2_last_50s_Kbps"] / t[FAR_AND_NEAR, "honest_flow_2_last_50s_Kbps"],
    between=(0.95, 1.05),
)
figure.claim("The other flow has its target all the same")(
    lambda t: t[FAR_AND_NEAR, "flow_1_last_50s_Kbps"] / 800, between=(0.97, 1.03)
)
figure.claim("Its traffic in profile is not harmed: less than 1 % of it is lost")(
    lambda t: t[FAR_AND_NEAR, "flow_1_lost_in"], between=(0.0, 0.01)
)
figure.claim("The excess is marked out of profile and most of it dropped")(
    lambda t: t[FAR_AND_NEAR, "flow_2_lost_out"], between=(0.75, 1.0)
)

figure.variant(
    "start-rule-b",
    "explains: with the floor from the first packet on the honest flow reaches its target sooner",
    ["flow.*.guarantee_start=first-rtt"],
    only=["honest", "cheat"],
)
below = {"rows": [FAR_AND_NEAR], "only": ["cheat"], "runs": 20}
figure.variant(
    "cheat-920",
    "explains: with a claim somewhat below the whole link the far flow has its 800 kbit/s in every run",
    ["flow.two.guarantee=920kbit/s"],
    **below,
)
figure.variant(
    "cheat-950",
    "explains: the nearer the claim comes to the whole link, the more runs differ",
    ["flow.two.guarantee=950kbit/s"],
    **below,
)

figure.curves(
    "flow_1_average_Kbps", "flow_2_average_Kbps", "flow_1_last_50s_Kbps", "flow_2_last_50s_Kbps",
    xlabel="delay of the first flow's last line", ylabel="kbit/s",
)  # fmt: skip
figure.curves("flow_2_lost_out", xlabel="delay of the first flow's last line", ylabel="lost out of profile")
