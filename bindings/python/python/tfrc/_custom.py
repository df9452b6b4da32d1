"""The form of custom congestion controls and queues, for `simulate` and `sweep`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable, Optional, Protocol, Union


class Controller(Protocol):
    """The congestion control of a flow of `kind = "custom"`; each flow has a separate object.

    The flow sends packets of one size while fewer than the window are outstanding. Each packet is
    acknowledged by itself. It counts as lost when three sent after it were acknowledged, or when
    nothing was acknowledged for a timeout. Times are seconds since the begin of the run.
    """

    def start(self, now: float) -> None:
        """The flow starts."""

    def on_ack(self, now: float, rtt: float, outstanding: int, marked: bool) -> None:
        """A packet was acknowledged after `rtt` seconds; `outstanding` are left. `marked` says
        that a queue marked it (ECN)."""

    def on_loss(self, now: float, packets: int, outstanding: int, begins_event: bool) -> None:
        """`packets` are lost. `begins_event` is true if the first of them was sent after the
        losses that were reported before: react once, where it is."""

    def on_timeout(self, now: float) -> None:
        """Nothing was acknowledged for the timeout; all outstanding packets are lost."""

    def window(self, now: float) -> Union[float, tuple[float, float]]:
        """The most packets outstanding from now on; or that and a rate in bit/s to pace by. It is
        asked for after each of the other calls."""
        ...


class Queue(Protocol):
    """The queue of a link with `queue = { custom = "NAME" }`; each direction has an object of its
    own, which keeps numbers of packets: the link has the packets."""

    def enqueue(self, now: float, packet: int, flow: int, size: int, capable: bool) -> bool:
        """A packet arrives: true to let it wait, false to drop it. `flow` is its flow's place in
        the scenario, `size` bytes, and `capable` true if it may be marked (ECN)."""
        ...

    def dequeue(self, now: float) -> Union[int, tuple[int, str], None]:
        """The line is free: the number of the packet to send, or that and a word, "send", "mark"
        or "drop". After a drop it is asked again. None leaves the line idle until the next packet
        arrives."""
        ...


Agents = Optional[Mapping[str, Callable[[], Controller]]]
Queues = Optional[Mapping[str, Callable[[], Queue]]]
# Makers of controllers and of queues by their names, as the native module takes them.
Code = tuple[list[tuple[str, Callable[[], Controller]]], list[tuple[str, Callable[[], Queue]]]]


def code(agents: Agents, queues: Queues) -> Code:
    """Controllers and queues of a call as the native module takes them."""
    return list((agents or {}).items()), list((queues or {}).items())
