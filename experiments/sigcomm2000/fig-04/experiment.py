from paper import buffers, oscillation, place, rates, rfc_tfrc

figure = buffers(
    place(4),
    "Oscillation of one flow through a buffer, with the square-root spacing",
    profiles={"rfc": [rfc_tfrc(more=", spacing = 'damped'")]},
)
figure.run(name="pipe")(oscillation)
figure.columns("cov", "utilization")
figure.draw(rates)

figure.claim("The oscillation at 64 packets is damped", lambda t: t["64p", "cov"], between=(0, 0.2))
figure.claim("That at 32 packets too", lambda t: t["32p", "cov"], between=(0, 0.2))
