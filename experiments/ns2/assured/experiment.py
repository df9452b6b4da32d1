from paper import comparison

from tfrc.lab import Quick

figure = comparison(
    "RIO with token buckets",
    keys={
        "delay_1": ["link.last-1.delay"],
        "delay_2": ["link.last-2.delay"],
        "target_1": ["link.edge.marker.0.token_bucket.rate"],
        "target_2": ["link.edge.marker.1.token_bucket.rate"],
    },
    runs=10,
    quick=Quick(3, ["duration=100s"]),
)


@figure.run
def assured(run):
    return {"flow1_bps": run.flow("one", "goodput_bps"), "flow2_bps": run.flow("two", "goodput_bps")}


figure.columns("flow1_bps", "flow2_bps", against="ns2")
