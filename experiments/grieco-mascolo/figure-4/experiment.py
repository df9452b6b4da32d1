from paper import ALONE, chain, flows, mix, utilisation

from tfrc.lab import ratio

figure = chain("Fig. 4", "A Reno flow over several full links, among TFRC")
mix(figure, "reno", "tfrc")


@figure.run(**flows("tfrc", "tfrc"), rows=ALONE)
def tfrc(run):
    return {"tfrc_utilisation": utilisation(run, "tfrc", "tfrc")}


figure.columns("tfrc_utilisation", run="tfrc", band="utilization", rows=ALONE)

figure.claim("Reno among TFRC has a third of Reno among Reno already at one hop")(
    ratio("1/12p ns2", "c1_Kbps", "reno_c1_Kbps"), between=(0.15, 0.6)
)
for text, row, most in (
    ("At three hops it has next to nothing", "3/12p ns2", 0.15),
    ("At five hops less than a sixteenth", "5/12p ns2", 0.0625),
    ("At ten hops as well", "10/12p ns2", 0.0625),
):
    figure.claim(text, ratio(row, "c1_Kbps", "reno_c1_Kbps"), between=(0.0, most))
figure.claim("Utilisation is as with TFRC alone: five hops")(
    lambda t: t["5/12p ns2", "utilisation"] - t["5/12p ns2", "tfrc_utilisation"], between=(-0.03, 0.03)
)
