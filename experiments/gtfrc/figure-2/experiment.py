from paper import guarantees, network, throughput

from tfrc.lab import Emulation, Quick

figure = network(
    "Figure 2",
    "TFRC and gTFRC, exactly provisioned: throughput after 20, 50, 100 s and on average",
    keys={"case": []},
    must_agree=True,
    quick=Quick(10),
    # The draft's network in real time, with RFC 5348's TFRC.
    emulation=Emulation(runs=3),
)
throughput(figure, "tfrc")
throughput(figure, "gtfrc", set=guarantees("800kbit/s", "200kbit/s"))

figure.claim(
    "Without a guarantee the far flow misses its target: "
    "on average it gets less than nine tenths of 800 kbit/s"
)(lambda t: t["exact", "tfrc_1_average_Kbps"] / 800, between=(0.5, 0.9))
figure.claim("With the guarantee it has its target within 50 s")(
    lambda t: t["exact", "gtfrc_1_after_50s_Kbps"] / 800, between=(0.95, 1.05)
)
figure.claim("gTFRC reaches the target sooner: its average is above TFRC's")(
    lambda t: t["exact", "gtfrc_1_average_Kbps"] / t["exact", "tfrc_1_average_Kbps"], between=(1.15, 1.5)
)
figure.claim("The near flow keeps its own target of 200 kbit/s, and what the other leaves")(
    lambda t: t["exact", "gtfrc_2_average_Kbps"] / 200, between=(1.0, 1.5)
)
figure.claim("The link stays full: both flows together, gTFRC, average")(
    lambda t: (t["exact", "gtfrc_1_average_Kbps"] + t["exact", "gtfrc_2_average_Kbps"]) / 1000,
    between=(0.96, 1.0),
)

figure.variant(
    "start-rule-b",
    "explains: the floor from the first packet on (rule B) does not give the draft's rates",
    ["flow.*.guarantee_start=first-rtt"],
    only=["gtfrc"],
)
decoupled = ["link.bottleneck.queue.rio.coupling=decoupled"]
figure.variant("rio-d", "assumed: link.bottleneck.queue.rio.coupling", decoupled)
figure.variant(
    "initial-rate-rfc3390",
    "explains: ns-2's initial rate of 2006 is decisive; "
    "with RFC 3390's the near flow has the link before the far one starts",
    ["flow.*.tfrc.initial_rate=ns2"],
)
figure.variant(
    "breaker-on",
    "explains: the circuit breaker that is on by default beside a guarantee stops the far flow, "
    "which loses more than a tenth of 64 packets in a round-trip time while the near one is in slow start",
    ["flow.*.tfrc.circuit_breaker=with-guarantee"],
    only=["gtfrc"],
)
