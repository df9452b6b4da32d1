"""TCP-Friendly Rate Control (RFC 5348) in Python.

`simulate` runs a scenario in virtual time, `sweep` a grid of them, `reproduce` an experiment of the
literature; `Equation`, `Sender`, `Receiver` and `Advisor` are the algorithm, for packets of your
own. Times are seconds and rates bit/s, as the names say.
"""

from ._laboratory import Experiment, Reproduction, experiments, reproduce
from ._native import (
    Advisor,
    Config,
    Equation,
    ExperimentError,
    RateChange,
    Receiver,
    Report,
    ScenarioError,
    Sender,
    Table,
    TfrcError,
    __version__,
)
from ._own import Controller, Queue
from ._simulation import BuiltInScenario, Simulation, scenarios, simulate
from ._sweep import sweep

__all__ = [
    "Advisor",
    "BuiltInScenario",
    "Config",
    "Controller",
    "Equation",
    "Experiment",
    "ExperimentError",
    "Queue",
    "RateChange",
    "Receiver",
    "Report",
    "Reproduction",
    "ScenarioError",
    "Sender",
    "Simulation",
    "Table",
    "TfrcError",
    "__version__",
    "experiments",
    "reproduce",
    "scenarios",
    "simulate",
    "sweep",
]
