from paper import dumbbell, equation, kbps, per_packet

figure = dumbbell(
    "Fig. 10",
    "TCP, the equation at TCP's and at TFRC's loss event rate, each over TFRC, against the probe's loss",
)


@figure.run
def sim(run):
    tcp, tfrc = kbps(run, "tcp"), kbps(run, "tfrc")
    at = {kind: equation(run.flow(kind, "rtt_s"), per_packet(run, kind)) for kind in ("tcp", "tfrc")}
    return {
        "tcp_Kbps": tcp,
        "tfrc_Kbps": tfrc,
        "probe_loss": run.flow("probe", "packet_loss_rate"),
        "tcp_over_tfrc": tcp / tfrc,
        "f_tcp_over_tfrc": at["tcp"] / tfrc,
        "f_tfrc_over_tfrc": at["tfrc"] / tfrc,
    }


figure.columns("tcp_Kbps", "tfrc_Kbps")
figure.columns("probe_loss", band="drop")
figure.columns("tcp_over_tfrc", "f_tcp_over_tfrc", "f_tfrc_over_tfrc", against="published")

figure.claim("The equation at TCP's loss event rate is nearer to TCP than TFRC is")(
    lambda t: (t["64", "f_tcp_over_tfrc"] / t["64", "tcp_over_tfrc"] - 1) / (t["64", "tcp_over_tfrc"] - 1),
    between=(0.0, 0.8),
)
figure.claim(
    "A part of the gap between TCP and TFRC comes from their loss event rates: f at TCP's over f at TFRC's"
)(lambda t: t["64", "f_tcp_over_tfrc"] / t["64", "f_tfrc_over_tfrc"], between=(1.2, 2.5))
figure.claim("At low loss all are close together")(
    lambda t: t["4", "f_tcp_over_tfrc"] / t["4", "f_tfrc_over_tfrc"], between=(0.9, 1.15)
)
