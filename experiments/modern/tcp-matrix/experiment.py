import math

from paper import QUEUE

from tfrc.lab import Emulation, Experiment, Paper, Quick, over

SHOWN = ["*/10M/50ms/1BDP/*"]
figure = Experiment(
    Paper("nothing published: a table of our own, with the kernel's TCP"),
    "",
    "TFRC beside Reno, CUBIC and BBR: share, smoothness, delay and loss over rates, "
    "round-trip times and queues",
    keys={
        "tcp": ["flow.tcp.tcp.variant"],
        "rate": ["link.bottleneck.rate"],
        "rtt": ["link.bottleneck.delay"],
        "queue": [],
        "room": [QUEUE],
    },
    # Three runs of each cell in both worlds, fixed before any was made; ten simulated ones of the rows that the
    # claims look at, fixed before any of these was made.
    runs=3,
    # The settings are the RFCs' in both profiles.
    rfc_runs=1,
    quick=Quick(2, ["duration=130s"], SHOWN),
    # Rows of BBR are the kernel's alone: kernel/bbr has the simulated one.
    emulation=Emulation(["duration=70s", "warmup=10s"], runs=3, alone=["bbr/*"], quick=Quick(1, rows=SHOWN)),
)


def teeth(run):
    """Sawteeth of the TCP in the measured time, estimated from its mean window; of BBR, its cycles."""
    rtt = run.flow("tcp", "rtt_s")
    window = run.flow("tcp", "goodput_bps") * rtt / (8 * 1460)
    reno = 0.667 * window * rtt
    cubic = min(reno, (0.833 * window) ** (1 / 3))
    return over(run.measured_s, {"sack": reno, "cubic": cubic, "bbr": 8 * rtt}[run.keys["tcp"]])


def measure(run):
    return {
        "share": over(run.flow("tfrc", "goodput_bps"), run.flow("tcp", "goodput_bps")),
        "tfrc_cov_0.2s": run.flow("tfrc", "cov_200ms"),
        "tcp_cov_0.2s": run.flow("tcp", "cov_200ms"),
        "tfrc_cov_1s": run.flow("tfrc", "cov"),
        "tcp_cov_1s": run.flow("tcp", "cov"),
        "queue_ms": 1000 * run.link("bottleneck", "mean_wait_s"),
        "loss": run.link("bottleneck", "drop_rate"),
        "utilization": run.link("bottleneck", "utilization"),
        "teeth": teeth(run),
    }


figure.run(measure, name="drop-tail", rows=["*/10ms/*BDP/*", "*/1M/50ms/*BDP/*", "*/50M/50ms/*BDP/*"])
figure.run(measure, name="drop-tail-claims", rows=["*/10M/50ms/*BDP/*"], runs=10)
# Sawteeth last longer the longer the path: ten of them in the simulated side.
far = ["*/1M/200ms/*BDP/*", "*/10M/200ms/*BDP/*", "*/50M/200ms/0.5BDP/*", "*/50M/200ms/1BDP/*"]
figure.run(measure, name="drop-tail-200ms", rows=far, set=["duration=1700s"])
figure.run(measure, name="drop-tail-longest", rows=["*/50M/200ms/4BDP/*"], set=["duration=8000s"])
ecn = ["flow.tcp.tcp.ecn=on", "flow.tfrc.ecn=on"]
for name, kind, settings, more in (
    ("red", "red", "revision = 'adaptive', limit = '100p', mean_packet = '1500B'", []),
    ("red-ecn", "red", "revision = 'adaptive', limit = '100p', mean_packet = '1500B', ecn = 'on'", ecn),
    ("codel", "codel", "limit = '100p'", []),
):
    queue = f"{QUEUE}={{ {kind} = {{ {settings} }} }}"
    keys = {**figure.keys, "room": [f"{QUEUE}.{kind}.limit"]}
    places = ["10M/10ms", "10M/200ms"] + ([] if name == "red-ecn" else ["1M/*", "50M/*"])
    others = [f"*/{place}/{name}/*" for place in places]
    figure.run(measure, name=name, rows=others, set=[queue, *more], keys=keys)
    claims = [f"*/10M/50ms/{name}/*"]
    figure.run(measure, name=f"{name}-claims", rows=claims, set=[queue, *more], keys=keys, runs=10)
# TFRC-SP in packets of 600 bytes: a hundred of them a second are an equal share of 1 Mbit/s, and its least
# interval of 10 ms is what holds it at 10 Mbit/s.
small = ["flow.tfrc.kind=tfrc-sp", "flow.tfrc.segment=600B", "duration=1700s"]
figure.run(measure, name="small-packets", rows=["*/1BDP-SP/*"], set=small)
figure.columns("share", "tfrc_cov_0.2s", "tcp_cov_0.2s", "tfrc_cov_1s", "tcp_cov_1s")
figure.columns("queue_ms", "loss", "utilization", "teeth")


def settled(t, tcp, queue, column):
    """A cell at 10 Mbit/s and 50 ms. A row is settled with ten sawteeth of the TCP; one that is not is no
    evidence."""
    row = f"{tcp}/10M/50ms/{queue}/*"
    return t[row, column] if t[row, "teeth"] >= 10 else math.nan


def smoothness(tcp):
    return lambda t: settled(t, tcp, "1BDP", "tfrc_cov_0.2s") / settled(t, tcp, "1BDP", "tcp_cov_0.2s")


def ratio(tcp, queue, other, column):
    return lambda t: settled(t, tcp, queue, column) / settled(t, tcp, other, column)


figure.claim(
    "Beside Reno at 10 Mbit/s, 50 ms and one bandwidth-delay product of drop-tail TFRC's "
    "rate is within a factor of two (RFC 5348 §1)"
)(lambda t: settled(t, "sack", "1BDP", "share"), between=(0.5, 2))
figure.claim("and beside CUBIC", lambda t: settled(t, "cubic", "1BDP", "share"), between=(0.5, 2))
figure.claim("There TFRC is smoother than Reno at 0.2 s", smoothness("sack"), between=(0.02, 1))
figure.claim("and smoother than CUBIC", smoothness("cubic"), between=(0.02, 1))
figure.claim("The mean wait behind CoDel is less than half of that in a drop-tail queue of four products")(
    ratio("sack", "codel", "4BDP", "queue_ms"), between=(0, 0.5)
)
figure.claim("With ECN RED drops less than half as much")(
    ratio("sack", "red-ecn", "red", "loss"), between=(0, 0.5)
)
figure.claim("BBR leaves TFRC less where the buffer is half a product than where it is four")(
    ratio("bbr", "0.5BDP", "4BDP", "share"),
    between=(0, 0.8),
    world="emu",
    evidence="Hock, Bless, Zitterbart, ICNP 2017: BBR against loss-based flows in small and large buffers",
)

# A panel for each round-trip time; the emulated side, as BBR has no other here. Nothing is published.
figure.curves(
    "share", x="queue", by=["rate", "rtt"], per="tcp", xlabel="queue",
    ylabel="goodput of TFRC over TCP's", ylim=(0.01, 100), log="y", world="emu", rows="*/10M/*",
)  # fmt: skip
