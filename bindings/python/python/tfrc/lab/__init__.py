"""The laboratory: experiments of the literature, and one's own, as programs.

An experiment is a file `experiment.py` with one `Experiment` in it: what is run, what is measured,
what is claimed. `tfrc-lab` lists, shows and runs them.
"""

from .experiment import Control, Emulation, Experiment, Means, Paper, Quick, SeedRule, ratio
from .recording import Counts, Recording, Run, Theta, mean, number, over

__all__ = [
    "Control",
    "Counts",
    "Emulation",
    "Experiment",
    "Means",
    "Paper",
    "Quick",
    "Recording",
    "Run",
    "SeedRule",
    "Theta",
    "mean",
    "number",
    "over",
    "ratio",
]
