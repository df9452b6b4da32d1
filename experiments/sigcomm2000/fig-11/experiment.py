from paper import DRAWN, LOAD, SCRIPTS, place, sources, vary

figure = sources(place(11, SCRIPTS), "Loss rate against the number of on/off sources")


@figure.run
def background(run):
    return {
        "mean_loss": run.link("bottleneck", "drop_rate"),
        "offered_load": run.link("bottleneck", "arrived_bytes") * 8 / run.measured_s / 15e6,
        "utilization": run.link("bottleneck", "utilization"),
        "source_bps": run.flow("onoff", "send_rate_bps"),
    }


figure.columns("mean_loss", band="drop", read_off=0.003, control=LOAD, **DRAWN)
figure.columns("offered_load", "utilization", "source_bps")

figure.claim(
    "Loss stays low while the sources leave room, and reaches 40 % and more at 150 sources: low at 60"
)(lambda t: t["60/12", "mean_loss"], between=(0.003, 0.03))
figure.claim("and high at 150", lambda t: t["150/30", "mean_loss"], between=(0.38, 0.48))
figure.claim(
    "The sources of the script send 185 kbit/s in the mean (up to 5 % more by rounding bursts to packets)"
)(lambda t: t["100/20", "source_bps"], between=(176000, 195000))

both = {"rows": ["100/20", "130/26"], "runs": 2}
vary(figure, "as-described", **both)
tail = ["flow.onoff.draws={}", "flow.onoff.on=pareto 1s 1.2", "flow.onoff.off=pareto 2s 1.2"]
figure.variant("as-described-shape-1.2", "explains: the same with a heavier tail", tail, **both)
vary(figure, "ns2-rules", rows=["130/26"], runs=2)
