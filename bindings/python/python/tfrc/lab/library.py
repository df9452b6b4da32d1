"""The experiments of a folder: `PAPER/NAME/experiment.py`, with `PAPER/paper.py` beside it."""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Optional

from .experiment import BadExperiment, Experiment

FILE = "experiment.py"


def root(folder: Optional[Path] = None) -> Path:
    """The folder of the experiments: the one given, `experiments` here or above, as in a checkout, or
    the package's own."""
    if folder is not None:
        return folder
    for parent in (Path.cwd(), *Path.cwd().parents):
        if ids(parent / "experiments"):
            return parent / "experiments"
    return Path(__file__).parent / "experiments"


def ids(folder: Path) -> list[str]:
    """The ids of all experiments, in their order."""
    return sorted(path.parent.relative_to(folder).as_posix() for path in folder.glob(f"*/*/{FILE}"))


def load(folder: Path, wanted: list[str]) -> list[Experiment]:
    """The experiments whose ids begin so, or `all`. A word may be a folder with an experiment,
    wherever it is; another spelling of one id, with or without the paper (`figure-9` for `fig-09`);
    or a figure's number at the conference (`sigcomm/figure-9`)."""
    found: dict[str, Path] = {}
    for word in wanted:
        at = Path(word).resolve()
        if (at / FILE).is_file():
            found[f"{at.parent.name}/{at.name}"] = at
        else:
            found.update({id: folder / id for id in _meant(folder, word)})
    return [read(id, at) for id, at in found.items()]


def _meant(folder: Path, word: str) -> list[str]:
    if not word:
        raise BadExperiment("an empty name; `all` means every experiment")
    known = ids(folder)
    begun = known if word == "all" else [id for id in known if id == word] or [id for id in known if id.startswith(word)]
    if begun:
        return begun
    names = {id: conference(read(id, folder / id).source) for id in known}
    spelt = [id for id, name in names.items() if _plain(word) in {*_spellings(id), *_spellings(name or id)}]
    if len(spelt) > 1:
        about = {id: f" ({name} at the conference)" if (name := names[id]) else "" for id in spelt}
        raise BadExperiment(f"{word!r} may be {' or '.join(f'{id}{about[id]}' for id in spelt)}")
    if not spelt:
        near = difflib.get_close_matches(word, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {len(known)} in {folder}"
        raise BadExperiment(f"there is no experiment {word!r}; {hint}; `tfrc-lab list` names them all")
    return spelt


def conference(source: str) -> Optional[str]:
    """The figure's number in the conference version of TR-00-003, as an id."""
    found = re.search(r"(?:conference version: Figure|SIGCOMM 2000, Figure) (\d+)", source)
    return None if found is None else f"sigcomm/fig-{found[1]}"


def _spellings(id: str) -> tuple[str, str]:
    """An id with and without its paper, without the differences of spelling."""
    return _plain(id), _plain(id).partition("/")[2]


def _plain(id: str) -> str:
    """An id without the differences of spelling."""
    return re.sub(r"(?<=-)0+(?=\d)", "", id.lower().replace("figure", "fig"))


def read(id: str, folder: Path) -> Experiment:
    """Runs an experiment's file, in which there is one `Experiment`."""
    path = folder / FILE
    with _Beside(folder.parent):
        spec = importlib.util.spec_from_file_location(f"tfrc_experiment_{id}", path)
        if spec is None or spec.loader is None:
            raise BadExperiment(f"{path} cannot be read")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    found = [value for value in vars(module).values() if isinstance(value, Experiment)]
    if len(found) != 1:
        raise BadExperiment(f"{path} defines {len(found)} experiments; it must define exactly one")
    return found[0].settle(id, folder)


class _Beside:
    """Lets an experiment import `paper.py` and the other modules of its paper, and those of no other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def __enter__(self) -> None:
        sys.modules.pop("paper", None)
        sys.path.insert(0, str(self._folder))

    def __exit__(self, *_: object) -> None:
        sys.path.remove(str(self._folder))
        files = {name: getattr(module, "__file__", None) for name, module in sys.modules.items()}
        for name in [name for name, file in files.items() if file and os.path.dirname(file) == str(self._folder)]:
            del sys.modules[name]
