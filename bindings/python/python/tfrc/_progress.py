"""Bars for runs that take long, by tqdm where it is installed."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Literal, Optional, Union

Progress = Union[bool, Literal["auto", "off", "on"]]

# Seconds after which a run is long enough for a bar.
DELAY = 1.0


@contextmanager
def bar(wanted: Progress, unit: str) -> Iterator[Optional[Callable[[float, float], None]]]:
    """A function of what is done and of all there is, or None where no bar is to be shown.

    "auto" shows a bar on a terminal and in a notebook if tqdm is installed; True is "on", False
    "off".
    """
    if isinstance(wanted, bool):
        wanted = "on" if wanted else "off"
    if wanted not in ("auto", "off", "on"):
        raise ValueError(f"progress {wanted!r}: auto, off or on")
    make = _tqdm(wanted)
    if make is None:
        yield None
        return
    shown = make(total=0, unit=unit, delay=DELAY, leave=False)

    def report(done: float, total: float) -> None:
        shown.total = total
        shown.update(done - shown.n)

    try:
        yield report
    finally:
        shown.close()


def _tqdm(wanted: Progress) -> Any:
    if wanted == "off" or (wanted == "auto" and not _somebody_looks()):
        return None
    try:
        with warnings.catch_warnings():
            # A notebook without ipywidgets has the bar as text, and need not hear of it.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        if wanted == "on":
            raise
        return None
    return tqdm


def _somebody_looks() -> bool:
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return is_terminal or "ipykernel" in sys.modules
