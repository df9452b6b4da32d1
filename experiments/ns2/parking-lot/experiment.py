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


def lot(hops):
    """The changes that make the lot one of `hops` links, each with a flow that crosses it each way."""
    line = "{ rate = '100Mbit/s', delay = '10ms' }"
    sends = f"kind = 'tfrc', start = 'uniform 0s 1s', segment = '1468B', access = {line}, exit = {line}"
    links, flows = [], [f"{{ name = 'through', from = 'r0', to = 'r{hops}', {sends} }}"]
    for hop in range(1, hops + 1):
        here, there = f"'r{hop - 1}'", f"'r{hop}'"
        links.append(f"{{ from = {here}, to = {there}, rate = '1Mbit/s', delay = '10ms', queue = '12p ns2' }}")
        flows.append(f"{{ name = 'there-{hop}', from = {here}, to = {there}, {sends} }}")
        flows.append(f"{{ name = 'back-{hop}', from = {there}, to = {here}, {sends} }}")
    nodes = [f"r{node}" for node in range(hops + 1)]
    return [f"nodes={nodes}", f"link=[{', '.join(links)}]", f"flow=[{', '.join(flows)}]"]


TFRC = ["flow.*.header=32B", "flow.*.tfrc.revision=ns2"]
RENO = ["flow.*.kind=tcp", "flow.*.segment=1460B", "flow.*.tcp={ variant = 'reno', settings = 'ns2', window = 1000 }"]
SENDERS = {"tfrc": TFRC, "reno": RENO, "reno-delayed-acks": [*RENO, "flow.*.tcp.acks=100ms"]}
for hops in (1, 5, 10):
    for sender, changes in SENDERS.items():
        longer = [] if hops == 1 else lot(hops)
        figure.run(measure, name=f"{sender}-{hops}", rows=[f"{hops}/{sender}"], set=[*longer, *changes])
figure.columns("through_bps", "there_bps", against="ns2")
