from paper import ALONE, c1_kbps, chain, difference, flows, ratio, utilisation

from tfrc.lab import Emulation

figure = chain(
    "Fig. 3",
    "A TFRC flow over several full links, among Reno",
    # The kernel's Reno, with one, three and five hops.
    emulation=Emulation(["duration=310s"], runs=2, rows=["1/12p ns2", "3/12p ns2", "5/12p ns2"]),
)


@figure.run(**flows("tfrc", "reno"))
def mixed(run):
    return {"utilisation": utilisation(run, "tfrc", "reno"), "c1_Kbps": c1_kbps(run, "tfrc")}


@figure.run(**flows("reno", "reno"), rows=ALONE)
def reno(run):
    return {"reno_c1_Kbps": c1_kbps(run, "reno")}


figure.columns("utilisation", run="mixed", band="utilization")
figure.columns("c1_Kbps", run="mixed", against="published")
figure.columns("reno_c1_Kbps", run="reno", against="published", rows=ALONE)

for hops, most in ("1 hop", 4), ("3 hops", 4), ("5 hops", 4), ("7 hops", 8), ("10 hops", 8):
    more = ratio(f"{hops.split()[0]}/12p ns2", "c1_Kbps", "reno_c1_Kbps")
    figure.claim(f"TFRC among Reno has more than Reno among Reno: {hops}", more, between=(1.05, most))
figure.claim(
    "Only slightly more, as the letter says: five hops",
    ratio("5/12p ns2", "c1_Kbps", "reno_c1_Kbps"),
    between=(1.0, 1.5),
)
figure.claim(
    "Utilisation falls with N: from one hop to three",
    difference("utilisation", "1/12p ns2", "3/12p ns2"),
    between=(0.05, 0.3),
)
figure.claim(
    "From three hops to five", difference("utilisation", "3/12p ns2", "5/12p ns2"), between=(0.0, 0.15)
)
figure.claim(
    "From five hops to ten", difference("utilisation", "5/12p ns2", "10/12p ns2"), between=(0.0, 0.15)
)
