from paper import comparison, mean_rates

from tfrc.lab import Quick

figure = comparison(
    "TCP and TFRC beside on/off and web traffic",
    keys={"kind": [], "count": []},
    # Which sources are on, which a seed fixes, decides more than the length of a run.
    runs=40,
    quick=Quick(3, ["duration=80s"]),
)


def measure(run):
    return mean_rates(run, "tcp", "tfrc")


for kind, count in ("onoff", "flow.onoff.count"), ("web", "flow.web.web.sessions"):
    figure.run(measure, name=kind, scenario=f"{kind}.toml", rows=[f"{kind}/*"], keys={"count": [count]})
figure.columns("tcp_bps", "tfrc_bps", "drop", "util", against="ns2")
