from paper import TCPS, comparison

from tfrc.lab import Quick

figure = comparison(
    "Random loss: the rate of every sender",
    keys={"sender": [], "loss": ["link.path.loss"], "duration": ["duration"]},
    runs=10,
    # The losses in short runs, and one row of each sender.
    quick=Quick(
        3,
        ["duration=60s"],
        [
            "tfrc-1460/0.01/1000s",
            "tfrc-sp-200/0.1/1000s",
            "tfrc-sp-14/0.3/5000s",
            "tahoe/0.01/1000s",
            "reno/0.05/1000s",
            "newreno/0.1/1000s",
            "sack/0.2/2000s",
        ],
    ),
)


def measure(run):
    # Of all flows together, as the script counts: a mean of ratios would weigh slow flows like fast ones.
    cuts = run.total("flow", "loss_events") / run.total("flow", "sent_packets")
    return {"rate_bps": run.flow("flow", "send_rate_bps"), "cuts_per_packet": cuts}


small = ["flow.flow.segment=14B", "flow.flow.packets_per_second=50"]
of_tcp = [f"{tcp}/*" for tcp in TCPS]
figure.run(measure, name="tfrc-1460", scenario="tfrc.toml", rows=["tfrc-1460/*"])
figure.run(measure, name="tfrc-sp-200", scenario="tfrc-sp.toml", rows=["tfrc-sp-200/*"])
figure.run(measure, name="tfrc-sp-14", scenario="tfrc-sp.toml", rows=["tfrc-sp-14/*"], set=small)
keys = {**figure.keys, "sender": ["flow.flow.tcp.variant"]}
figure.run(measure, name="tcp", scenario="tcp.toml", rows=of_tcp, keys=keys)
figure.columns("rate_bps", against="ns2")
figure.columns("cuts_per_packet", against="ns2", rows=of_tcp)
