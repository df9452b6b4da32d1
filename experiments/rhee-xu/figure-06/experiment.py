from paper import dumbbell, tfrc_beside_equation

figure = dumbbell("Fig. 6", "The equation at E[1/theta_hat] and at 1/E[theta] beside TFRC's throughput, L = 8")
tfrc_beside_equation(figure)

closely = "At low loss f(E[1/theta_hat]) follows TFRC's throughput closely"
figure.claim(closely, lambda t: t["4", "f_p_hat_over_tfrc"], between=(0.85, 1.1))
figure.claim("At high loss it is an upper bound", lambda t: t["64", "f_p_hat_over_tfrc"], between=(1.0, 1.5))
figure.claim("and a tighter one than f(1/E[theta])")(
    lambda t: t["64", "f_p_over_tfrc"] / t["64", "f_p_hat_over_tfrc"], between=(1.02, 1.5)
)
figure.claim("E[1/theta_hat] is above 1/E[theta]: 1/x is convex")(
    lambda t: t["16", "p_hat"] / t["16", "p"], between=(1.02, 1.5)
)
figure.claim("The intervals hardly depend on their estimate: cov[theta, theta_hat] over E[theta]^2")(
    lambda t: t["16", "normalized_cov"], between=(-0.1, 0.1)
)
figure.claim("The gap between the two grows with the loss event rate")(
    lambda t: t["64", "gap"] - t["4", "gap"], between=(0.0, 0.5)
)
