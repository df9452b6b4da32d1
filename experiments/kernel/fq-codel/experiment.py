from paper import QUEUE, kernel, mbps, near_kernel, through

figure = kernel(
    "FQ-CoDel: shares of Linux's BBR and CUBIC and of TFRC, and the delay of a sparse flow, "
    "simulated and with the kernel's TCPs",
    {"queue": [], "rtt": ["link.bottleneck.delay"], "room": [f"{QUEUE}.fq_codel.limit"]},
    quick=["*/40ms/*"],
)


def measure(run):
    rates = {f"{flow}_mbps": mbps(run, flow) for flow in ("bbr", "cubic", "tfrc")}
    return {**rates, "sparse_rtt_ms": 1000 * run.flow("sparse", "rtt_s")}


fq_codel = [f"{QUEUE}={{ fq_codel = {{ limit = '1000p' }} }}"]
figure.run(measure, name="fq-codel", rows=["fq-codel/*"], set=fq_codel)
figure.run(measure, name="drop-tail", rows=["drop-tail/*"], **through(figure, "drop-tail"))
figure.columns("bbr_mbps", "cubic_mbps", "tfrc_mbps", "sparse_rtt_ms")

near_kernel(figure, "In each row the simulated rate of BBR", "bbr_mbps", 0.25, least=1)
figure.claim("So is that of CUBIC", lambda t: t.inside("cubic_mbps", 0.25), between=(1, 1))
figure.claim("So is that of TFRC", lambda t: t.inside("tfrc_mbps", 0.25), between=(1, 1))
figure.claim(
    "In each row the simulated round trip of the sparse flow is within 10 % of the one next to the kernel's "
    "TCPs, or as near to it as those runs"
)(lambda t: t.inside("sparse_rtt_ms", 0.1), between=(1, 1))

# A panel for each queue; the kernel's side. Nothing is published.
figure.curves(
    "bbr_mbps", "cubic_mbps", "tfrc_mbps", x="rtt", by=["queue"], xlabel="round-trip time",
    ylabel="Mbit/s", world="emu",
)  # fmt: skip
figure.curves("sparse_rtt_ms", x="rtt", by=["queue"], xlabel="round-trip time", world="emu")
