"""Long-lived flows of one kind with short transfers at a queue: Figures 14 and 24 to 27, and the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from paper import PAPER, SCRIPTS, rfc_tcp, rfc_tfrc, vary

from tfrc.lab import Experiment, Quick, Run, over

queue_figure = partial(
    Experiment,
    PAPER,
    scenario="../long-lived.toml",
    keys={"case": []},
    quick=Quick(3),
    profiles={"rfc": [rfc_tcp("tcp-*", 10000), rfc_tfrc("tfrc-*")]},
)


# The line, the queue and the flows of Figures 24 and 25: a tenth of the others', and one flow in each group.
FOUR_FLOWS = [
    "link.bottleneck.rate=1.5Mbit/s",
    "link.bottleneck.reverse.queue=25p",
    *(f"link.bottleneck.queue.red.{change}" for change in ("limit=25p", "min=3", "max=13")),
    *(f"flow.{kind}-*.count=1" for kind in ("tcp", "tfrc")),
    *(
        f"flow.{kind}-{group}.{change}"
        for kind in ("tcp", "tfrc")
        for group, start, rtt in (("a", "0s", "44ms"), ("b", "4.1s", "44ms"), ("c", "8.2s", "44ms"), ("d", "12.3s", "46ms"))
        for change in (f"start={start}", f"rtt={rtt}")
    ),
    "flow.short.web.apart=exponential 266.7ms",
]


def long_lived(figure: Experiment, name: str, changes: Sequence[str] = (), **options: Any) -> None:
    """Adds a run of TCP or TFRC flows alone, as the end of its name says; its columns begin with the name."""
    other = "tfrc" if name.endswith("TCP") else "tcp"

    @figure.run(name=name, set=[f"flow.{other}-*.count=0", *changes], **options)
    def measure(run: Run) -> dict[str, float]:
        arrived, dropped = (run.link("bottleneck", f"{what}_packets") for what in ("arrived", "dropped"))
        return {
            f"{name}_utilization": run.link("bottleneck", "utilization"),
            # Drops over packets that left, as the authors' script has them.
            f"{name}_drop_rate": over(dropped, arrived - dropped),
            f"{name}_mean_queue": run.link("bottleneck", "mean_queue_packets"),
        }

    figure.columns(f"{name}_utilization", run=name, band="utilization")
    figure.columns(f"{name}_drop_rate", run=name, band="drop")


def traces(figure: Experiment, titles: Mapping[str, str], changes: Sequence[str] = ()) -> None:
    """Adds such runs by their names, and draws the queue of each under its title. Its mean, which the report
    does not give, is a column."""
    for name, title in titles.items():
        long_lived(figure, name, changes)
        figure.columns(f"{name}_mean_queue", run=name)
        figure.trace(title, name, link="bottleneck", step=0.05)


def queue_of(
    flows: str, case: str, changes: Sequence[str], number: int, discipline: str, limit: int
) -> Experiment:
    """One of Figures 24 to 27: the queue of `limit` packets under four or forty flows, which `changes` make,
    with the claims that all of them have."""
    word = {"DropTail": "drop-tail", "RED": "RED"}[discipline]
    source = f"Figure {number}; the numbers from its Figure 25; {SCRIPTS}"
    figure = queue_figure(source, f"Queue with {flows} long-lived flows, {word}", set=changes)
    title = word[0].upper() + word[1:]
    titles = {f"{discipline}_{kind}": f"{title}: {kind} flows" for kind in ("TCP", "TFRC")}
    traces(figure, titles, [f"link.bottleneck.queue={limit}p"] if discipline == "DropTail" else [])
    tcp, tfrc = ((case, f"{name}_mean_queue") for name in titles)
    figure.claim(f"The mean queue of {discipline} with TFRC is about that with TCP")(
        lambda t: t[tfrc] / t[tcp], between=(0.6, 1.7)
    )
    text, between = {
        "DropTail": ("the queue is long on the average", (0.3, 0.95)),
        "RED": ("the queue is neither empty nor full on the average", (0.06, 0.5)),
    }[discipline]
    figure.claim(f"With {discipline} {text}", lambda t: t[tfrc] / limit, between=between)
    vary(figure, "ns2-rules", only=[f"{discipline}_TFRC"], runs=5)
    return figure


four_flows = partial(queue_of, "four", "4 flows", FOUR_FLOWS)
forty_flows = partial(queue_of, "forty", "40 flows", ())
