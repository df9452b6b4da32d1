from paper import through_buffers

figure = through_buffers(3, "without the square-root spacing", spacing="nominal")

figure.claim("The larger the buffer, the larger the lasting oscillation")(
    lambda t: t["64p", "cov"] / t["2p", "cov"], between=(1.05, 20)
)
figure.claim("The oscillation at a buffer of 64 packets is visible")(
    lambda t: t["64p", "cov"], between=(0.02, 1)
)
