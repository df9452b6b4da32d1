from paper import dumbbell, equation, kbps, per_packet

figure = dumbbell("Fig. 9", "The equation at TCP's own loss event rate beside TCP")


@figure.run
def sim(run):
    tcp, p = kbps(run, "tcp"), per_packet(run, "tcp")
    return {
        "tcp_Kbps": tcp,
        "tfrc_Kbps": kbps(run, "tfrc"),
        "p_tcp": p,
        "p_tfrc": per_packet(run, "tfrc"),
        "f_over_tcp": equation(run.flow("tcp", "rtt_s"), p) / tcp,
    }


figure.columns("tcp_Kbps", "tfrc_Kbps", "p_tcp")
figure.columns("p_tfrc", "f_over_tcp", against="published")

figure.claim("The equation is off TCP's throughput, and the more the higher the loss")(
    lambda t: t["64", "f_over_tcp"] - t["4", "f_over_tcp"], between=(0.02, 1.0)
)
figure.claim("At high loss TCP sends less than the equation")(
    lambda t: t["64", "f_over_tcp"], between=(1.05, 2.0)
)
figure.claim("TCP's loss event rate does not pass 0.11 ...")(
    lambda t: t.of("p_tcp", max), between=(0.05, 0.11)
)
figure.claim("... where TFRC's is higher")(
    lambda t: t.of("p_tfrc", max) / t.of("p_tcp", max), between=(1.1, 2.0)
)
reno = (
    "explains: the equation models Reno; "
    "SACK with Limited Transmit has fewer timeouts than it, Reno about as many"
)
figure.variant("reno", reno, ["flow.tcp.tcp.variant=reno"], rows=["4", "32", "64"])
figure.variant(
    "reno-delayed-acks",
    "explains: a TCP that acknowledges every second segment is below the equation with b = 1",
    ["flow.tcp.tcp.variant=reno", "flow.tcp.tcp.acks=100ms"],
    rows=["4", "32", "64"],
)
