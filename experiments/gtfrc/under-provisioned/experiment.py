from paper import DRAFT, EQUAL_PATHS, NS2_OF_2006, guarantees

from tfrc.lab import Experiment, Quick

figure = Experiment(
    DRAFT,
    "§3.4.2",
    "More promised than there is: going on with g, or giving way below g/y",
    scenario="../network.toml",
    # The draft names no targets here: one and a half times the link in all.
    set=[
        *EQUAL_PATHS,
        "link.edge.marker.0.token_bucket.rate=900kbit/s",
        "link.edge.marker.1.token_bucket.rate=600kbit/s",
    ],
    keys={"case": []},
    profiles={"as-published": NS2_OF_2006},
    quick=Quick(4),
)
promised = guarantees("900kbit/s", "600kbit/s")
# Keeping g without a circuit breaker; `breaker` has the one that is on by default with a guarantee.
for kind, changes in {
    "keep": [*promised, "flow.*.tfrc.circuit_breaker=off"],
    "threshold": [*promised, "flow.*.guarantee_threshold=2"],
    "breaker": promised,
    "tfrc": [],
}.items():

    @figure.run(name=kind, set=changes, keep=["looks"])
    def measure(run, kind=kind):
        return {
            f"{kind}_sent_1_Kbps": run.rate("one", 50, 100) / 1000,
            f"{kind}_sent_2_Kbps": run.rate("two", 50, 100) / 1000,
            f"{kind}_goodput_Kbps": (run.goodput("one", 50, 100) + run.goodput("two", 50, 100)) / 1000,
            f"{kind}_drop_rate": run.link("bottleneck", "drop_rate"),
            f"{kind}_loss_event_rate": run.over_time("one", "p", 50, 100),
            f"{kind}_rtt_s": run.over_time("one", "rtt_s", 50, 100),
        }

    figure.columns(f"{kind}_sent_1_Kbps", f"{kind}_sent_2_Kbps", f"{kind}_goodput_Kbps", run=kind)
    figure.columns(f"{kind}_drop_rate", run=kind, band="drop")

figure.columns("breaker_loss_event_rate", run="breaker", band="drop")
figure.columns("breaker_rtt_s", run="breaker")

figure.claim("The flow that keeps g sends its target whatever is lost")(
    lambda t: t["under", "keep_sent_1_Kbps"] / 900, between=(0.98, 1.02)
)
figure.claim("So does the other", lambda t: t["under", "keep_sent_2_Kbps"] / 600, between=(0.98, 1.02))
figure.claim("Then a third of what they send is lost, the part that the link does not hold")(
    lambda t: t["under", "keep_drop_rate"], between=(0.28, 0.36)
)
figure.claim("With the threshold y = 2 both give way: the drop rate is that of plain congestion control")(
    lambda t: t["under", "threshold_drop_rate"], between=(0.002, 0.08)
)
figure.claim("They send a good third less than with g kept")(
    lambda t: (t["under", "threshold_sent_1_Kbps"] + t["under", "threshold_sent_2_Kbps"]) / 1500,
    between=(0.6, 0.75),
)
figure.claim("The link carries as much either way")(
    lambda t: t["under", "threshold_goodput_Kbps"] / t["under", "keep_goodput_Kbps"], between=(0.9, 1.02)
)
figure.claim(
    "A circuit breaker ends the sending at g: the flows get nothing more through in the second half"
)(
    lambda t: t["under", "breaker_sent_1_Kbps"] / 900,
    between=(0.0, 0.3),
    evidence="RFC 8083 §4.3: a third of the packets lost, 0.25 s at least: ten times TCP's rate is below "
    "0.7 Mbit/s",
)
