from paper import dumbbell, equation, kbps, per_packet

figure = dumbbell("Fig. 8", "TCP over TFRC for several L")
for length in (4, 8, 16):

    @figure.run(name=f"l{length}", set=[f"flow.tfrc.tfrc.intervals={length}"])
    def measure(run, length=length):
        tcp, tfrc = kbps(run, "tcp"), kbps(run, "tfrc")
        at_p = equation(run.flow("tfrc", "rtt_s"), per_packet(run, "tfrc"))
        found = {"tcp_Kbps": tcp, "tfrc_Kbps": tfrc, "tcp_over_tfrc": tcp / tfrc, "gap": at_p / tfrc}
        return {f"l{length}_{column}": value for column, value in found.items()}


figure.columns("l8_tcp_Kbps", "l8_tfrc_Kbps", run="l8")
figure.columns("l16_tcp_Kbps", "l16_tfrc_Kbps", run="l16")
for length in (4, 8, 16):
    figure.columns(f"l{length}_tcp_over_tfrc", run=f"l{length}", against="published")
figure.columns("l8_gap", run="l8", against="published")

figure.claim("TCP has more than TFRC, and at high loss much more: 64 and 64")(
    lambda t: t["64", "l8_tcp_over_tfrc"], between=(1.3, 2.5)
)
figure.claim("The ratio grows with loss")(
    lambda t: t["64", "l8_tcp_over_tfrc"] - t["4", "l8_tcp_over_tfrc"], between=(0.3, 1.5)
)
figure.claim("It falls as L grows, but only a little")(
    lambda t: t["64", "l16_tcp_over_tfrc"] / t["64", "l8_tcp_over_tfrc"], between=(0.8, 1.0)
)
figure.claim("It is much larger than the distance of the equation from TFRC's throughput (Figures 6 and 7)")(
    lambda t: (t["64", "l8_tcp_over_tfrc"] - 1) / (t["64", "l8_gap"] - 1), between=(1.3, 10)
)
