from paper import BOTH_KINDS, PAPER, SCRIPTS, place, vary

from tfrc.lab import Experiment

figure = Experiment(
    PAPER,
    place(8, SCRIPTS),
    "Throughput of single flows in short bins, 16 TCP and 16 TFRC",
    scenario="../pairs.toml",
    # 30 s, of which the second half counts (Figure 8); the queue in proportion to the rate, 250 at 15 Mbit/s with
    # thresholds of 25 and 125 (Figures 8 and 14). The other values are those of the row 15 Mbit/s, 16 + 16.
    set=[
        "duration=30s",
        "warmup=16s",
        "link.bottleneck.reverse.queue=250p ns2",
        *(f"link.bottleneck.queue.red.{change}" for change in ("limit=250p", "min=25", "max=125")),
    ],
    keys={"case": []},
    profiles=BOTH_KINDS,
    rfc_runs=10,
)
for queue, changes in {"red": [], "drop_tail": ["link.bottleneck.queue=250p ns2"]}.items():

    @figure.run(name=queue, set=changes)
    def measure(run, queue=queue):
        return {
            f"{queue}_TCP_cov": run.cov("tcp", 0.2),
            f"{queue}_TFRC_cov": run.cov("tfrc", 0.2),
            f"{queue}_drop_rate": run.link("bottleneck", "drop_rate"),
        }

    figure.columns(f"{queue}_TCP_cov", f"{queue}_TFRC_cov", f"{queue}_drop_rate", run=queue)


def over_tcp(queue):
    """TFRC's variation over TCP's."""
    return lambda t: t["16 + 16", f"{queue}_TFRC_cov"] / t["16 + 16", f"{queue}_TCP_cov"]


figure.claim(
    "With RED TFRC is visibly smoother than TCP: "
    "less than half the variation at 0.2 s (the figure has bins of 0.15 s)"
)(over_tcp("red"), between=(0.2, 0.5))
figure.claim("With DropTail as well", over_tcp("drop_tail"), between=(0.15, 0.5))
figure.claim("RED has more drops than DropTail, because its round-trip time is shorter")(
    lambda t: t["16 + 16", "red_drop_rate"] / t["16 + 16", "drop_tail_drop_rate"], between=(1.03, 2.5)
)
figure.claim("With the defaults of RFC 5348 TFRC is smoother, too")(
    over_tcp("red"), between=(0.2, 0.75), profile="rfc"
)
vary(figure, "rtt-80-120ms", "ns2-rules")

# Four flows of each kind in bins of 0.15 s, as the report has them.
for queue, title in {"red": "RED", "drop_tail": "Drop-tail"}.items():
    figure.trace(title, queue, flows=["tcp", "tfrc"], each=4, step=0.15)
