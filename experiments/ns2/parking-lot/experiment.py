from paper import comparison

from tfrc.lab import Quick

figure = comparison(
    "Parking lot: a flow through N links with crossing flows",
    keys={"hops": [], "sender": []},
    runs=10,
    quick=Quick(3, ["duration=100s"]),
)


def measure(run):
    goodputs = {"through_bps": "through", "there_bps": "there-*"}
    return {column: run.flow(flows, "goodput_bps") for column, flows in goodputs.items()}


for hops in (1, 5, 10):
    for sender, changes in ("tfrc", []), ("reno", []), ("reno-delayed-acks", ["flow.*.tcp.acks=100ms"]):
        scenario = f"{sender.partition('-')[0]}-{hops}.toml"
        rows = [f"{hops}/{sender}"]
        figure.run(measure, name=f"{sender}-{hops}", scenario=scenario, rows=rows, set=changes)
figure.columns("through_bps", "there_bps", against="ns2")
