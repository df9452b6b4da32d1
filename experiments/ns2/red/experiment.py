from paper import comparison, mean_rates

from tfrc.lab import Quick

figure = comparison(
    "The queue and the drops of RED",
    keys={"mode": []},
    runs=10,
    quick=Quick(3, ["duration=60s"]),
    profiles={"as-published": ["duration=80s"]},
)
RED = "link.bottleneck.queue.red"
ADAPTIVE = (
    "link.bottleneck.queue={ red = { revision = 'ns2', limit = '100p', measure = 'packets', mode = 'packet', "
    "mean_packet = '1000B', thresholds = 'automatic', weight = 'automatic-ns2', adaptation = 'ns2' } }"
)
MODES = {
    "packet": [],
    "byte": [f"{RED}.measure=bytes", f"{RED}.mode=byte"],
    "not-gentle": [f"{RED}.above_max=drop"],
    "adaptive": [ADAPTIVE],
}


def measure(run):
    return {**mean_rates(run, "tcp"), "queue": run.link("bottleneck", "mean_queue_packets")}


for mode, changes in MODES.items():
    figure.run(measure, name=mode, rows=[mode], set=changes)
figure.columns("tcp_bps", "drop", "util", "queue", against="ns2")
