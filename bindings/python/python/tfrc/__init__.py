"""TCP-Friendly Rate Control (RFC 5348) in Python.

`simulate` runs a scenario in virtual time, `sweep` a grid of them; `tfrc.lab` has the experiments of
the literature; `capture` reads a recording of packets; `Equation`, `Sender`, `Receiver` and `Advisor`
are the algorithm, for packets of your own; `connect` and `Listener` make sessions with other hosts.
Times are seconds and rates bit/s, as the names say.
"""

from ._native import (
    Advisor,
    Config,
    Equation,
    FileCopy,
    Key,
    Listener,
    RateChange,
    Receiver,
    Report,
    ScenarioError,
    Sender,
    Session,
    SessionError,
    Table,
    TfrcError,
    __version__,
    connect,
)
from ._capture import Capture, capture
from ._custom import Controller, Queue
from ._simulation import BuiltInScenario, Simulation, scenarios, simulate
from ._sweep import sweep

__all__ = [
    "Advisor",
    "BuiltInScenario",
    "Capture",
    "Config",
    "Controller",
    "Equation",
    "FileCopy",
    "Key",
    "Listener",
    "Queue",
    "RateChange",
    "Receiver",
    "Report",
    "ScenarioError",
    "Sender",
    "Session",
    "SessionError",
    "Simulation",
    "Table",
    "TfrcError",
    "__version__",
    "capture",
    "connect",
    "scenarios",
    "simulate",
    "sweep",
]
