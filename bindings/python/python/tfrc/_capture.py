"""Recordings of packets, read for rate control."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Optional, Union

from . import _native


@dataclass(frozen=True)
class Capture:
    """The meaning of a recording: its document and its tables."""

    rounds: _native.Table
    """Rates sent and allowed, R, queueing delay and the limiting terms, a row for each stretch from
    report to report of a round-trip time or more; at most 400 for each direction of data."""
    reports: _native.Table
    """Reports of the receivers, with 1/p by several rules; at most 400 for each direction."""
    _text: str
    _words: str

    def to_json(self) -> str:
        """The document that `tfrc capture --json` prints for the same file."""
        return self._text

    def json(self) -> dict[str, Any]:
        """The document of `to_json` as a dictionary."""
        document: dict[str, Any] = json.loads(self._text)
        return document

    def __str__(self) -> str:
        return self._words

    def __repr__(self) -> str:
        return f"<tfrc.Capture: {len(self.rounds)} rows of rounds, {len(self.reports)} of reports>"


def capture(
    path: Union[str, os.PathLike[str]],
    *,
    side: Optional[Literal["client", "server", "middle"]] = None,
    ports: Iterable[int] = (),
    lost: Optional[Iterable[int]] = None,
) -> Capture:
    """Reads a pcap or pcapng file and says what it means for rate control.

    `side` is the place of the tap, where it cannot be found out; `ports` are UDP ports that carry
    DCCP, besides 6511 and those on which a Request is seen; `lost` are data packets of the client,
    counted from 1, that are known to be lost after the tap.

    Raises `OSError` for a file that cannot be read, `ValueError` for one that is no capture. A file
    without DCCP has no connections; `json()["other"]` says what it has instead.
    """
    native = _native.capture(os.fspath(path), side, set(ports), None if lost is None else set(lost))
    return Capture(native.rounds, native.reports, native.text, native.words)
