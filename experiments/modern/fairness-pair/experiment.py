import statistics

from paper import BALANCED, LIMITS, PLACE, TFRC_MAP_COLUMNS, TIMES, map_of, of_tfrc_map, through

from tfrc.lab import Quick

figure = map_of(
    "One CUBIC and one TFRC flow: a fresh set at other rates, delays and queues",
    # sha256 of published.csv, before longer loss events were tried:
    # 041ef6e4abcaf08702dfd2ffa7a3e3dbee07e40055c634e862b7fd1598084fed
    keys={**PLACE, **LIMITS, **TIMES},
    runs=2,
    # RFC 5348, for comparison: as published stands for the profile.
    rfc_runs=2,
    quick=Quick(1, ["duration=20s", "warmup=5s"], ["*/3M/60ms/codel/1/1/*"]),
)


def measure(run):
    found = of_tfrc_map(run)
    return {**found, "in_two": abs(found["ratio_log2"]) <= 1}


for queue in ("drop-tail", "codel"):
    figure.run(
        measure,
        name=queue,
        scenario="../fairness-map/scenario.toml",
        profiles={"as-published": [BALANCED]},
        keep=["delays"],
        **through(figure, queue),
    )
figure.columns(*TFRC_MAP_COLUMNS, "in_two")

# A loss-insensitive period of R·s/S, S of four fifths of s = 1440 bytes; the scale undoes S in the equation.
TFRC = "flow.tfrc.tfrc"
longer = [f"{TFRC}.packet_size=lip-scaling", f"{TFRC}.reference_segment=1152B", f"{TFRC}.rate_scale=1.25"]
figure.variant("longer-events", "explains: the profile with loss events of 1.25 R", longer, runs=2)

figure.claim("The profile is within a factor of two of CUBIC at 88 % of the points")(
    lambda t: t.of("in_two", statistics.mean), between=(0.88, 1)
)
figure.claim("The worst point is within a factor of four")(
    lambda t: t.of("ratio_log2", lambda ratios: max(map(abs, ratios))), between=(0, 2)
)
