from paper import comparison

from tfrc.lab import Quick

figure = comparison(
    "TCP and TFRC beside on/off and web traffic",
    keys={"kind": [], "count": []},
    # Which sources are on, which a seed fixes, decides more than the length of a run.
    runs=40,
    quick=Quick(3, ["duration=80s"]),
)


def measure(run):
    return {
        "tcp_bps": run.flow("tcp", "send_rate_bps"),
        "tfrc_bps": run.flow("tfrc", "send_rate_bps"),
        "drop": run.link("bottleneck", "drop_rate"),
        "util": run.link("bottleneck", "utilization"),
    }


for kind, count in ("onoff", "flow.onoff.count"), ("web", "flow.web.web.sessions"):
    figure.run(measure, name=kind, scenario=f"{kind}.toml", rows=[f"{kind}/*"], keys={"count": [count]})
figure.columns("tcp_bps", "tfrc_bps", "drop", "util", against="ns2")
