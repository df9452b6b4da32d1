from paper import buffers, oscillation, place, rates, rfc_tfrc

figure = buffers(
    place(3),
    "Oscillation of one flow through a buffer, without the square-root spacing",
    profiles={"rfc": [rfc_tfrc(more=", spacing = 'nominal'")]},
)
figure.run(name="pipe")(oscillation)
figure.columns("cov", "utilization")
figure.draw(rates)

figure.claim(
    "The larger the buffer, the larger the lasting oscillation",
    lambda t: t["64p", "cov"] / t["2p", "cov"],
    between=(1.05, 20),
)
figure.claim(
    "The oscillation at a buffer of 64 packets is visible", lambda t: t["64p", "cov"], between=(0.02, 1)
)
