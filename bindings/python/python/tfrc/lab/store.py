"""Runs that were done, kept whole: measures and figures may change, and nothing runs anew."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zlib
from collections.abc import Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Iterator, NamedTuple, Optional

from .. import _native
from .recording import Recording

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Task:
    """A run to do: a scenario with changes, the number of the run, and what is kept of it beyond
    the rest. `key` is all that determines the run."""

    key: str
    scenario: str
    changes: tuple[str, ...]
    run: int
    keep: frozenset[str]


class Series(NamedTuple):
    """One run in stretches of time."""

    table: DataFrame
    """A row for each flow and each link in each stretch."""
    from_s: float
    """The end of the warm-up."""
    packet_hops: int


class Store:
    """Runs that were done, each in a file; nothing without a folder."""

    def __init__(self, folder: Optional[Path] = None) -> None:
        self._folder = None if folder is None else folder / "recordings"

    def find(self, task: Task) -> Optional[Recording]:
        """The recording of a run, if it is there, whole, and with all that is to be kept."""
        try:
            found = Recording.unpack(self._read(task.key))
        except (OSError, ValueError, KeyError, EOFError, zlib.error):
            return None
        return found if task.keep <= set(found.arrays["kept"]) else None

    def put(self, task: Task, recording: Recording) -> None:
        """Keeps the recording of a run."""
        if self._folder is not None:
            self._write(task.key, recording.pack())

    def series(self, scenario: str, changes: Sequence[str], seed: Optional[int], interval: float) -> Series:
        """One run of a scenario in stretches of `interval` seconds; without `seed`, with its own."""
        import pyarrow as pa
        import pyarrow.parquet as parquet

        identity, own, _ = _native.identity("name", scenario, list(changes))
        about = f"{identity}\nseed {own if seed is None else seed}\nstretches of {interval}"
        key = hashlib.sha256(about.encode()).hexdigest()
        try:
            table = parquet.read_table(io.BytesIO(self._read(key)))
        except (OSError, pa.ArrowInvalid):
            done = _native.simulate("name", scenario, list(changes), seed, None, 1, interval, None)
            table = pa.table(done.series).replace_schema_metadata({"document": done.text})
            if self._folder is not None:
                file = io.BytesIO()
                parquet.write_table(table, file, compression="zstd")
                self._write(key, file.getvalue())
        document = json.loads(table.schema.metadata[b"document"])
        return Series(table.to_pandas(), document["duration_s"] - document["measured_s"], document["packet_hops"])

    def _read(self, key: str) -> bytes:
        if self._folder is None:
            raise FileNotFoundError(key)
        return (self._folder / key[:2] / key[2:]).read_bytes()

    def _write(self, key: str, content: bytes) -> None:
        assert self._folder is not None
        path = self._folder / key[:2] / key[2:]
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(content)
        part.replace(path)


class Computation:
    """The runs of a computation: the store that they are from, and their packet hops."""

    def __init__(self, store: Store) -> None:
        self.store, self.packet_hops = store, 0

    def series(self, scenario: str, changes: Sequence[str], seed: Optional[int], interval: float) -> Series:
        """A run of the computation."""
        found = self.store.series(scenario, changes, seed, interval)
        self.packet_hops += found.packet_hops
        return found


_UNDER_WAY: ContextVar[Optional[Computation]] = ContextVar("computation", default=None)


def under_way() -> Computation:
    """The computation that is under way in this thread; one that keeps nothing outside of all."""
    return _UNDER_WAY.get() or Computation(Store())


@contextmanager
def computation(store: Store) -> Iterator[Computation]:
    """Counts the hops of the runs inside, and takes them from a store."""
    before = _UNDER_WAY.set(found := Computation(store))
    try:
        yield found
    finally:
        _UNDER_WAY.reset(before)
