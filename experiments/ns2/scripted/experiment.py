from paper import NS2, TCPS

from tfrc.lab import Experiment, Quick

figure = Experiment(
    NS2,
    "",
    "Scripted losses, compared in time",
    keys={"sender": [], "loss": ["link.path.loss"]},
    # No seed matters on either side.
    deterministic=True,
    quick=Quick(rows=["tfrc-1000/{ scripted = [101] }", "sack/{ scripted = [101] }"]),
    profiles={
        "as-published": ["flow.flow.count=1", "flow.flow.start=0s", "duration=40s", "warmup=1s"],
    },
)
SECONDS = [*range(1, 11), *range(13, 41, 3)]


def measure(run):
    """The packets sent until each of the seconds."""
    packet_bits = 8 * run.flow("flow", "mean_packet_bytes")
    return {f"trace_{second}": run.rate("flow", 0, second) * second / packet_bits for second in SECONDS}


for sender, scenario, changes in (
    ("tfrc-1000", "../bernoulli/tfrc.toml", ["flow.flow.segment=1000B"]),
    ("tfrc-sp-250", "../bernoulli/tfrc-sp.toml", ["flow.flow.segment=250B"]),
    ("tfrc-sp-14", "../bernoulli/tfrc-sp.toml", ["flow.flow.segment=14B", "flow.flow.packets_per_second=50"]),
):
    figure.run(measure, name=sender, scenario=scenario, rows=[f"{sender}/*"], set=changes)
keys = {**figure.keys, "sender": ["flow.flow.tcp.variant"]}
figure.run(measure, name="tcp", scenario="../bernoulli/tcp.toml", rows=[f"{tcp}/*" for tcp in TCPS], keys=keys)
figure.columns(*(f"trace_{second}" for second in SECONDS), against="ns2", band="trace")
