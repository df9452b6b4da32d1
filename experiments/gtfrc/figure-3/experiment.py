from paper import EQUAL_PATHS, PROMISED, network, throughput

from tfrc.lab import Quick

# A guarantee belongs to flows called gtfrc-*; the run without one calls them tfrc-*.
figure = network(
    "Figure 3",
    "TFRC and gTFRC with excess bandwidth, equal and unequal round-trip times",
    keys={
        "target_1": ["link.edge.marker.0.token_bucket.rate", "flow.gtfrc-1*.guarantee"],
        "target_2": ["link.edge.marker.1.token_bucket.rate", "flow.gtfrc-2*.guarantee"],
        "delay_1": ["link.last-1.delay"],
        "delay_2": ["link.last-2.delay"],
    },
    set=[
        *EQUAL_PATHS,
        *(f"flow.{name}.name=gtfrc-{place}" for place, name in enumerate(("one", "two"), 1)),
        "link.edge.marker.0={ token_bucket = { rate = '700kbit/s', burst = '10000B' }, flows = ['gtfrc-1'] }",
        "link.edge.marker.1={ token_bucket = { rate = '100kbit/s', burst = '10000B' }, flows = ['gtfrc-2'] }",
    ],
    quick=Quick(10),
)
EQUAL, FAR_AND_NEAR = "700kbit/s/100kbit/s/105ms/105ms", "600kbit/s/200kbit/s/300ms/0ms"
plain = ["flow.0.name=tfrc-1", "flow.1.name=tfrc-2"]
plain += ['link.edge.marker.0.flows=["tfrc-1"]', 'link.edge.marker.1.flows=["tfrc-2"]']
throughput(figure, "tfrc", ["tfrc-1", "tfrc-2"], set=plain)
throughput(figure, "gtfrc", ["gtfrc-1", "gtfrc-2"], set=PROMISED)

figure.claim("At equal round-trip times both kinds of flow have their targets on average")(
    lambda t: t[EQUAL, "gtfrc_1_average_Kbps"] / 700, between=(1.0, 1.15)
)
figure.claim("Far and near, TFRC falls short of its target of 600 kbit/s over the 100 s")(
    lambda t: t[FAR_AND_NEAR, "tfrc_1_average_Kbps"] / 600, between=(0.5, 0.9)
)
figure.claim("With the guarantee the far flow has its target from 50 s on")(
    lambda t: t[FAR_AND_NEAR, "gtfrc_1_after_50s_Kbps"] / 600, between=(0.95, 1.1)
)
figure.claim("The guarantee brings the far flow nearer to its target on average")(
    lambda t: t[FAR_AND_NEAR, "gtfrc_1_average_Kbps"] / t[FAR_AND_NEAR, "tfrc_1_average_Kbps"],
    between=(1.05, 1.3),
)
figure.claim("The excess goes to the near flow, which has about twice its target")(
    lambda t: t[FAR_AND_NEAR, "gtfrc_2_average_Kbps"] / 200, between=(1.8, 2.5)
)
