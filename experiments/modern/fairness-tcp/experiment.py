from paper import LIMITS, MAP_COLUMNS, PLACE, QUEUES, TIMES, map_of, of_map, through

from tfrc.lab import Quick

place = {name: paths for name, paths in PLACE.items() if name != "tfrcs"}
figure = map_of(
    "A TCP in TFRC's place: CUBIC next to SACK, and each next to its like",
    keys={**place, "other": ["flow.other.tcp.variant"], "others": ["flow.other.count"], **LIMITS, **TIMES},
    runs=1,
    rfc_runs=1,
    quick=Quick(1, ["duration=60s", "warmup=20s"], ["*/2M/100ms/*/1/1/*"]),
)
for queue in QUEUES:
    figure.run(lambda run: of_map(run, "other"), name=queue, **through(figure, queue))
figure.columns(*MAP_COLUMNS)

figure.claim("CUBIC takes more than twice SACK's rate behind four products at 20 Mbit/s and 200 ms")(
    lambda t: t["sack/cubic/20M/200ms/4BDP/1/1/*", "ratio_log2"], between=(1, 8)
)
figure.claim("Through CoDel at 20 Mbit/s and 50 ms both have the same")(
    lambda t: t["sack/cubic/20M/50ms/codel/4/4/*", "ratio_log2"], between=(-0.5, 0.5)
)
