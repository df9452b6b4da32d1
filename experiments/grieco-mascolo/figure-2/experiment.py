from paper import c1_kbps, chain, difference, flows, utilisation

from tfrc.lab import Emulation, ratio

figure = chain(
    "Fig. 2",
    "A flow over several full links among its own kind: Reno among Reno, TFRC among TFRC",
    # The kernel's Reno, with one, three and five hops.
    emulation=Emulation(
        ["duration=310s"], runs=2, rows=["1/12p ns2", "3/12p ns2", "5/12p ns2"], only=["reno", "tfrc"]
    ),
)
LONG = ["5/12p ns2", "10/12p ns2"]
RED = (
    "link.*.queue={ red = { limit = '12p', measure = 'packets', mode = 'packet', mean_packet = '1500B', "
    "min = 2, max = 6, weight = 0.02, revision = 'ns2', thresholds = 'fixed' } }"
)
# The size of RED's queue is not that of the row.
WITH_RED = {"rows": LONG, "keys": {"hops": ["flow.c1.to"]}}

for kind in ("reno", "tfrc"):

    @figure.run(name=kind, **flows(kind, kind))
    def among_its_kind(run, kind=kind):
        c1 = c1_kbps(run, kind)
        use = utilisation(run, kind, kind)
        return {f"{kind}_utilisation": use, f"{kind}_c1_Kbps": c1, f"{kind}_c1_alone_Kbps": c1}

    @figure.run(name=f"{kind}_red", **flows(kind, kind, RED), **WITH_RED)
    def through_red(run, kind=kind):
        return {f"{kind}_red_c1_Kbps": c1_kbps(run, kind)}

    figure.columns(f"{kind}_utilisation", run=kind, band="utilization")
    figure.columns(f"{kind}_c1_Kbps", run=kind, against="published")
    figure.columns(f"{kind}_red_c1_Kbps", run=f"{kind}_red", against="published", rows=LONG)
figure.columns("tfrc_c1_alone_Kbps", run="tfrc", rows=["1/12p ns2", "1/24p ns2"])


def reno_over_tfrc(row):
    return ratio(row, "reno_c1_Kbps", "tfrc_c1_Kbps")


figure.claim("One hop: TFRC is fair to itself, C_1 has about half the link")(
    lambda t: t["1/12p ns2", "tfrc_c1_Kbps"] / 500, between=(0.9, 1.1)
)
figure.claim("One hop: Reno has about as much", reno_over_tfrc("1/12p ns2"), between=(0.6, 1.1))
figure.claim("Three hops, 12 packets: TFRC among TFRC is some three times below Reno among Reno")(
    reno_over_tfrc("3/12p ns2"), between=(1.4, 5.6)
)
figure.claim("Five hops, 12 packets: an order of magnitude below")(
    reno_over_tfrc("5/12p ns2"), between=(5.5, 22)
)
figure.claim("Ten hops, 12 packets: more than an order of magnitude below")(
    reno_over_tfrc("10/12p ns2"), between=(9, 40)
)
figure.claim(
    "A larger buffer helps TFRC by a factor, not out of starvation: ten hops, 24 packets, "
    "below 2 % of the link"
)(lambda t: t["10/24p ns2", "tfrc_c1_Kbps"] / 1000, between=(0, 0.02))
figure.claim("With 24 packets the factor of ten comes later: five hops give about four")(
    reno_over_tfrc("5/24p ns2"), between=(2, 8)
)
figure.claim("Reno's C_1 does not depend on the buffer: five hops")(
    lambda t: t["5/24p ns2", "reno_c1_Kbps"] / t["5/12p ns2", "reno_c1_Kbps"], between=(0.8, 1.25)
)
figure.claim("Reno's utilisation falls from one hop to ten")(
    difference("reno_utilisation", "1/12p ns2", "10/12p ns2"), between=(0.05, 0.2)
)
figure.claim("TFRC uses the links nearly whole whatever N is")(
    lambda t: t.of("tfrc_utilisation", min), between=(0.92, 1.0)
)
figure.claim("The starvation is an effect of full queues: with RED, five hops, TFRC has no less than Reno")(
    ratio("5/12p ns2", "tfrc_red_c1_Kbps", "reno_red_c1_Kbps"), between=(0.8, 2.0)
)
figure.claim("The same with RED and ten hops")(
    ratio("10/12p ns2", "tfrc_red_c1_Kbps", "reno_red_c1_Kbps"), between=(0.8, 4.0)
)

figure.variant(
    "an-ack-per-segment",
    "explains: without delayed acknowledgements Reno's C_1 starves as well; the letter names no sink",
    ["flow.*.tcp.acks=each"],
    rows=LONG,
    only=["reno"],
)
figure.variant(
    "a-round-between-events",
    "explains: with the rule ns-2 has since December 2002 (PreciseLoss_) "
    "TFRC's C_1 has two to three times as much",
    ["flow.*.tfrc.loss_event_timing=sender-time-and-round"],
    rows=LONG,
    only=["tfrc"],
)
later = ["flow.cross-*.start=uniform 0s 5s"]
figure.variant("starts-5s", "assumed: flow.1.start", later, rows=LONG, only=["reno", "tfrc"])
short = ["flow.*.segment=1000B"]
figure.variant("packets-1000-tfrc", "assumed: flow.0.segment", short, rows=LONG, only=["tfrc"])
