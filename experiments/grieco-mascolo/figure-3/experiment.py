from paper import chain, difference, mix

from tfrc.lab import Emulation, ratio

figure = chain(
    "Fig. 3",
    "A TFRC flow over several full links, among Reno",
    # The kernel's Reno, with one, three and five hops.
    emulation=Emulation(["duration=310s"], runs=2, rows=["1/12p ns2", "3/12p ns2", "5/12p ns2"]),
)
mix(figure, "tfrc", "reno")

for hops, most in ("1 hop", 4), ("3 hops", 4), ("5 hops", 4), ("7 hops", 8), ("10 hops", 8):
    more = ratio(f"{hops.split()[0]}/12p ns2", "c1_Kbps", "reno_c1_Kbps")
    figure.claim(f"TFRC among Reno has more than Reno among Reno: {hops}", more, between=(1.05, most))
figure.claim("Only slightly more, as the letter says: five hops")(
    ratio("5/12p ns2", "c1_Kbps", "reno_c1_Kbps"), between=(1.0, 1.5)
)
figure.claim("Utilisation falls with N: from one hop to three")(
    difference("utilisation", "1/12p ns2", "3/12p ns2"), between=(0.05, 0.3)
)
figure.claim("From three hops to five")(
    difference("utilisation", "3/12p ns2", "5/12p ns2"), between=(0.0, 0.15)
)
figure.claim("From five hops to ten")(
    difference("utilisation", "5/12p ns2", "10/12p ns2"), between=(0.0, 0.15)
)
