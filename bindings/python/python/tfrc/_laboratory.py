"""The experiments of the literature."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass
from typing import Any, Optional, Union

from . import _native
from ._progress import Progress, bar

Folder = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Experiment:
    """An experiment of the literature."""

    id: str
    """Its id, such as `sigcomm2000/fig-09`."""
    alias: Optional[str]
    """Its number in another version of the publication, as an id that is taken too."""
    title: str
    """Its title."""
    source: str
    """The publication, with the place in it."""
    world: str
    """The world that it runs in: `sim`, or `emu`, which `reproduce` leaves out."""
    must_agree: bool
    """True for experiments that must agree with the print or with ns-2."""


def experiments(*ids: str, folder: Optional[Folder] = None) -> list[Experiment]:
    """The experiments whose ids begin so, or all of them, in the order of their ids.

    `folder` has the experiments; else those of a checkout in the current folder are taken, else
    the ones built into the package.
    """
    listed = json.loads(_native.experiments(_path(folder), list(ids) or ["all"]))
    return [Experiment(**one) for one in listed["experiments"]]


class Reproduction:
    """Results of experiments: published values next to measured ones, and verdicts."""

    def __init__(self, native: _native.NativeResults) -> None:
        self._native = native

    def to_json(self) -> str:
        """The document that `tfrc reproduce --json` prints."""
        return self._native.text

    def json(self) -> dict[str, Any]:
        """The document of `to_json` as a dictionary."""
        document: dict[str, Any] = json.loads(self._native.text)
        return document

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict of each experiment, by its id."""
        return {one["id"]: one["verdict"] for one in self.json()["experiments"]}

    @property
    def cells(self) -> list[dict[str, Any]]:
        """The cells of all experiments, each with the id of its experiment; a list of dictionaries,
        as `pandas.DataFrame` takes it."""
        found = self.json()["experiments"]
        return [{"experiment": one["id"], **cell} for one in found for cell in one["cells"]]

    @property
    def claims(self) -> list[dict[str, Any]]:
        """The claims of all experiments, each with the id of its experiment."""
        found = self.json()["experiments"]
        return [{"experiment": one["id"], **claim} for one in found for claim in one["claims"]]

    def svg(self) -> str:
        """The figure of the only experiment, in the form of its paper."""
        return self._native.svg()

    def _repr_svg_(self) -> Optional[str]:
        try:
            return self.svg()
        except ValueError:
            return None

    def write(self, folder: Folder) -> None:
        """Writes the report into a folder: `index.html`, tables and figures."""
        self._native.write(os.fspath(folder))

    def __repr__(self) -> str:
        listed = ", ".join(f"{id}: {verdict}" for id, verdict in self.verdicts.items())
        return f"<tfrc.Reproduction {listed}>"


def reproduce(
    *ids: str,
    quick: bool = False,
    jobs: int = 0,
    cache: Union[Folder, None] = "auto",
    folder: Optional[Folder] = None,
    progress: Progress = "auto",
) -> Reproduction:
    """Runs the experiments whose ids begin so, and compares them with the published values.

    `quick` takes fewer runs, rows and seconds, too few for verdicts. `jobs` is the number of
    threads, 0 for one on each processor. `cache` is the folder in which results of runs are kept,
    None for none; "auto" is the user's, as for the program. `folder` as for `experiments`.

    Raises `ExperimentError` for an id that is none. Ctrl-C ends it after the runs under way.
    """
    if not ids:
        raise ValueError("name an experiment, or 'all'")
    kept = _native.user_cache() if cache == "auto" else _path(cache)
    with bar(progress, "run") as tell:
        native = _native.reproduce(_path(folder), list(ids), quick, jobs, kept, tell)
    for text in native.warnings:
        warnings.warn(text, stacklevel=2)
    return Reproduction(native)


def _path(folder: Optional[Folder]) -> Optional[str]:
    return None if folder is None else os.fspath(folder)
