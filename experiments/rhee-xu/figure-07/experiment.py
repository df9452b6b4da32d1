from paper import beside_equation, dumbbell, tfrc_beside_equation

figure = dumbbell("Fig. 7", "The equation at E[1/theta_hat] and at 1/E[theta] beside TFRC's throughput, L = 16")
tfrc_beside_equation(figure, "flow.tfrc.tfrc.intervals=16")


@figure.run(set=["flow.tfrc.tfrc.intervals=8"])
def l8(run):
    found = beside_equation(run)
    return {"gap_l8": found["gap"], "f_p_hat_over_tfrc_l8": found["f_p_hat_over_tfrc"]}


figure.columns("gap_l8", "f_p_hat_over_tfrc_l8", run="l8", against="published")

figure.claim("With 16 intervals the gap between f(E[1/theta_hat]) and f(1/E[theta]) is smaller than with 8")(
    lambda t: (t["32", "gap"] - 1) / (t["32", "gap_l8"] - 1), between=(0.2, 0.8)
)
figure.claim("The distance of TFRC's throughput from f(E[1/theta_hat]) hardly changes")(
    lambda t: t["32", "f_p_hat_over_tfrc"] / t["32", "f_p_hat_over_tfrc_l8"], between=(0.93, 1.1)
)
