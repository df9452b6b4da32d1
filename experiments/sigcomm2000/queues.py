"""Long-lived flows of one kind with short transfers at a queue: Figures 14 and 24 to 27, and the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from paper import PAPER, rfc_tcp, rfc_tfrc

from tfrc.lab import Experiment, Quick, Run, over

queue_figure = partial(
    Experiment,
    PAPER,
    keys={"case": []},
    quick=Quick(3),
    profiles={"rfc": [rfc_tcp("tcp-*", 10000), rfc_tfrc("tfrc-*")]},
)


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
    for name in titles:
        long_lived(figure, name, changes)
        figure.columns(f"{name}_mean_queue", run=name)

    @figure.draw
    def draw(page: Any) -> None:
        for name, title in titles.items():
            page.trace(title, name, link="bottleneck", step=0.05)
