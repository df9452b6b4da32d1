from paper import through_buffers

figure = through_buffers(4, "with the square-root spacing", spacing="damped")

figure.claim("The oscillation at 64 packets is damped", lambda t: t["64p", "cov"], between=(0, 0.2))
figure.claim("That at 32 packets too", lambda t: t["32p", "cov"], between=(0, 0.2))
