from paper import BALANCED, LIMITS, PLACE, QUEUES, RENO, TFRC_MAP_COLUMNS, TIMES, map_of, of_tfrc_map, through

from tfrc.lab import Quick

figure = map_of(
    "TFRC's share next to SACK and CUBIC over delays, rates and queues",
    keys={**PLACE, **LIMITS, **TIMES},
    # One run of each point: its measured part has fifty sawteeth, or lasts 800 s.
    runs=1,
    # The settings are the RFCs' as published: a second profile would be the same.
    rfc_runs=1,
    quick=Quick(1, ["duration=60s", "warmup=20s"], ["*/2M/100ms/*/1/1/*"]),
)
for queue in QUEUES:
    figure.run(of_tfrc_map, name=queue, keep=["delays"], **through(figure, queue))
figure.columns(*TFRC_MAP_COLUMNS)


def variant(name, about, *settings, rows=None):
    figure.variant(name, f"explains: {about}", settings, rows=rows, runs=1)


# Each part of the profile alone, one run, at 2 Mbit/s, and at 20 Mbit/s up to 50 ms.
TFRC = "flow.tfrc.tfrc"
CUBIC = f"{TFRC}.friend=cubic"
LEAST = f"{TFRC}.rto_least=200ms"
few = ["*/2M/*", "*/20M/10ms/*", "*/20M/50ms/*"]
variant("rto-200ms", "t_RTO of at least 200 ms", f"{TFRC}.rto=four-rtt-at-least", LEAST, rows=few)
of_linux = [f"{TFRC}.rto=rfc6298", f"{TFRC}.rto_tick=200ms", LEAST]
variant("rto-linux", "t_RTO by the rule of Linux, R + max(200 ms, 4 RTTVAR)", *of_linux, rows=few)
variant("pairs", "pairs of packets while a round trip has more than three", f"{TFRC}.pairs=3", rows=few)
variant("pairs-4", "pairs of packets while a round trip has more than four", f"{TFRC}.pairs=4", rows=few)
variant("friend-cubic", "the equation of CUBIC", CUBIC, rows=few)
without_rto = "the profile without its t_RTO, told that its friend is CUBIC"
next_to_cubic = [row.replace("*", "cubic", 1) for row in few]
variant("pairs-cubic", without_rto, f"{TFRC}.pairs=3", CUBIC, rows=next_to_cubic)

# The profile: told its friend, and what a SACK gets next to it.
variant("told-reno", "the profile, told that its friend is Reno", BALANCED, RENO, rows=["sack/*"])
variant("told-cubic", "the profile, told that its friend is CUBIC", BALANCED, rows=["cubic/*"])

# The same without being told: the friend is CUBIC until the queue's growths are straight lines.
BY_SHAPE = f"{TFRC}.friend_choice=by-shape"
shape = "the profile with its friend chosen by the shape of the queue's growth"
variant("by-shape", shape, BALANCED, BY_SHAPE)
reno_first = [BALANCED, RENO, BY_SHAPE]
variant("by-shape-reno", "the same, with Reno for the first friend", *reno_first, rows=["*/2M/*", "*/20M/*"])
harmed = ["sack/2M/*", "sack/20M/*"]
variant("harm", "the profile with CUBIC for a friend, next to SACK", BALANCED, rows=harmed)

figure.claim(
    "Next to SACK through CoDel at 20 Mbit/s and 100 ms TFRC's rate is within a factor of two (RFC 5348 §1)"
)(lambda t: t["sack/20M/100ms/codel/4/4/*", "ratio_log2"], between=(-1, 1))
figure.claim(
    "Next to CUBIC behind four products at 20 Mbit/s and 200 ms it is less than half: "
    "CUBIC outgrows the equation of Reno"
)(lambda t: t["cubic/20M/200ms/4BDP/1/1/*", "ratio_log2"], between=(-8, -1))
