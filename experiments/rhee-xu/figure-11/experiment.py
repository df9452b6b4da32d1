from paper import difference, dumbbell, kbps, per_packet

figure = dumbbell("Fig. 11", "The difference of TFRC's and TCP's loss event rates")


@figure.run(set=["flow.tfrc.tfrc.intervals=8"])
def l8(run):
    return {
        "tcp_Kbps": kbps(run, "tcp"),
        "tfrc_Kbps": kbps(run, "tfrc"),
        "p_tcp": per_packet(run, "tcp"),
        "l8_difference": difference(run),
    }


@figure.run(set=["flow.tfrc.tfrc.intervals=16"])
def l16(run):
    return {"l16_difference": difference(run)}


figure.columns("tcp_Kbps", "tfrc_Kbps", "p_tcp", run="l8")
figure.columns("l8_difference", run="l8", against="published")
figure.columns("l16_difference", run="l16", against="published")

figure.claim("TFRC sees a higher loss event rate than TCP: 32 and 32")(
    lambda t: t["32", "l8_difference"], between=(0.05, 0.6)
)
figure.claim("The difference grows with the loss event rate")(
    lambda t: t["64", "l8_difference"] - t["4", "l8_difference"], between=(0.1, 0.8)
)
figure.claim("The averaging hardly matters for the loss event rate: L = 16 beside L = 8")(
    lambda t: (1 + t["32", "l16_difference"]) / (1 + t["32", "l8_difference"]), between=(0.9, 1.1)
)
