"""Types of the native module."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, Optional, Union, final, overload

import numpy as np
import numpy.typing as npt
import pandas

from ._custom import Code

__version__: str

_FloatArray = npt.NDArray[np.float64]
_Array = Union[npt.NDArray[Any], Sequence[float]]
_Numbers = Union[float, _Array]
_Tell = Optional[Callable[[float, float], None]]

class TfrcError(Exception):
    """Base of the package's own exceptions."""

    message: str
    """The mistake, in one sentence."""
    help: Optional[str]
    """How to put it right."""
    file: Optional[str]
    """The name of the text."""
    line: Optional[int]
    """The line of the mistake, from 1."""
    column: Optional[int]
    """The column of the mistake, from 1."""

class ScenarioError(TfrcError):
    """A scenario that cannot be used."""

class SessionError(ConnectionError):
    """A session that was not made, or that broke off."""

@final
class Table:
    """A table: named columns of one length, shared with any library of Arrow's PyCapsule interface."""

    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: str, /) -> Any:
        """A numpy array of numbers, in which an unknown value is NaN, or a list of words."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...
    def to_pandas(self) -> pandas.DataFrame: ...

@final
class Config:
    """Settings of a sender and its receiver; the default is RFC 5348."""

    def __new__(
        cls,
        *,
        segment_bytes: int = 1460,
        segment: Literal["mean", "fixed"] = "mean",
        cap_bps: Optional[float] = None,
        max_queue_delay: Optional[float] = None,
        no_feedback_floor: Optional[float] = None,
        clock_grain: Optional[float] = None,
        variant: Literal["tfrc", "tfrc-sp"] = "tfrc",
        revision: str = "rfc5348",
        profile: Literal["rfc5348", "balanced"] = "rfc5348",
        friend: Optional[Literal["reno", "cubic"]] = None,
    ) -> Config: ...

@final
class Equation:
    """The TCP throughput equation of RFC 5348 §3.1."""

    def __new__(
        cls,
        *,
        form: Literal["tfrc", "timeout-term-capped", "square-root"] = "tfrc",
        packets_per_ack: int = 1,
        scale: float = 1.0,
    ) -> Equation: ...
    @overload
    def rate_bps(self, segment_bytes: float, rtt_s: float, p: float) -> float: ...
    @overload
    def rate_bps(self, segment_bytes: _Array, rtt_s: _Numbers, p: _Numbers) -> _FloatArray: ...
    @overload
    def rate_bps(self, segment_bytes: _Numbers, rtt_s: _Array, p: _Numbers) -> _FloatArray: ...
    @overload
    def rate_bps(self, segment_bytes: _Numbers, rtt_s: _Numbers, p: _Array) -> _FloatArray: ...
    @overload
    def loss_event_rate(self, segment_bytes: float, rtt_s: float, rate_bps: float) -> float: ...
    @overload
    def loss_event_rate(self, segment_bytes: _Array, rtt_s: _Numbers, rate_bps: _Numbers) -> _FloatArray: ...
    @overload
    def loss_event_rate(self, segment_bytes: _Numbers, rtt_s: _Array, rate_bps: _Numbers) -> _FloatArray: ...
    @overload
    def loss_event_rate(self, segment_bytes: _Numbers, rtt_s: _Numbers, rate_bps: _Array) -> _FloatArray: ...

@final
class RateChange:
    """A change of the allowed sending rate."""

    @property
    def at(self) -> float: ...
    @property
    def from_bps(self) -> float: ...
    @property
    def to_bps(self) -> float: ...
    @property
    def reason(self) -> str: ...
    @property
    def rtt_s(self) -> Optional[float]: ...

@final
class Report:
    """A receiver's report to the sender (RFC 5348 §3.2.2)."""

    def __new__(
        cls,
        *,
        newest_seq: int,
        elapsed_s: float,
        receive_rate_bps: float,
        loss_event_rate: float,
        loss_events: int,
        packets: int,
        lost: int,
        reason: str = "regular",
    ) -> Report: ...
    @property
    def newest_seq(self) -> int: ...
    @property
    def elapsed_s(self) -> float: ...
    @property
    def receive_rate_bps(self) -> float: ...
    @property
    def loss_event_rate(self) -> float: ...
    @property
    def loss_events(self) -> int: ...
    @property
    def packets(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def reason(self) -> str: ...

@final
class Sender:
    """The sending half of the algorithm (RFC 5348 §4), for packets of your own."""

    def __new__(cls, config: Optional[Config] = None) -> Sender: ...
    def on_rtt_sample(self, now: float, rtt_s: float) -> None: ...
    def next_send(self, now: float) -> Optional[float]: ...
    def on_sent(self, now: float, size: int) -> int: ...
    def on_report(self, now: float, report: Report) -> bool: ...
    def handle_timeout(self, now: float) -> None: ...
    def poll_timeout(self) -> Optional[float]: ...
    def poll_event(self) -> Optional[RateChange]: ...
    @property
    def allowed_rate_bps(self) -> float: ...
    @property
    def target_rate_bps(self) -> float: ...
    def set_cap(self, cap_bps: Optional[float]) -> None: ...
    def set_floor(self, floor_bps: float) -> None: ...
    @property
    def stopped(self) -> Optional[str]: ...
    def resume(self, now: float) -> bool: ...
    @property
    def rate_reason(self) -> str: ...
    def competed_s(self, now: float) -> float: ...
    @property
    def rtt_s(self) -> Optional[float]: ...
    @property
    def loss_event_rate(self) -> float: ...
    @property
    def next_seq(self) -> int: ...

@final
class Receiver:
    """The receiving half of the algorithm (RFC 5348 §5, §6)."""

    def __new__(cls, config: Optional[Config] = None) -> Receiver: ...
    def expect(self, now: float, first_seq: int) -> None: ...
    def on_rtt_sample(self, rtt_s: float) -> None: ...
    def on_packet(
        self, now: float, seq: int, size: int, *, rtt_s: Optional[float] = None, ce: bool = False
    ) -> None: ...
    def handle_timeout(self, now: float) -> None: ...
    def poll_timeout(self) -> Optional[float]: ...
    def poll_feedback(self, now: float) -> Optional[Report]: ...
    @property
    def loss_event_rate(self) -> float: ...
    @property
    def loss_events(self) -> int: ...
    @property
    def rtt_s(self) -> float: ...

_Taken = Literal["new", "duplicate", "unknown"]

@final
class Advisor:
    """Rate control at the sender alone (RFC 5348 §7)."""

    def __new__(
        cls, config: Optional[Config] = None, *, report_interval_s: float = 0.0, losses: str = "order"
    ) -> Advisor: ...
    def on_rtt_sample(self, now: float, rtt_s: float) -> None: ...
    def next_send(self, now: float) -> Optional[float]: ...
    def on_sent(self, sent_at: float, id: int, size: int) -> None: ...
    def on_sent_many(
        self, sent_at: _FloatArray, id: npt.NDArray[np.uint64], size: npt.NDArray[np.uint32]
    ) -> None: ...
    def on_acked(self, id: int, arrived_at: Optional[float] = None, *, ce: bool = False) -> _Taken: ...
    def on_acked_many(
        self,
        id: npt.NDArray[np.uint64],
        arrived_at: Optional[_FloatArray] = None,
        *,
        ce: Optional[npt.NDArray[np.bool_]] = None,
    ) -> int: ...
    def on_acked_range(self, first: int, last: int, *, ce: bool = False) -> int: ...
    def on_lost(self, id: int) -> _Taken: ...
    def on_unreported(self, first: int, last: int) -> None: ...
    def on_covered(self, first: int, last: int) -> None: ...
    def on_losses_undone(self, since: float) -> int: ...
    def on_report(
        self, now: float, hold_s: Optional[float] = None, *, rtt_s: Optional[float] = None
    ) -> None: ...
    def handle_timeout(self, now: float) -> None: ...
    def poll_timeout(self) -> Optional[float]: ...
    def poll_event(self) -> Optional[RateChange]: ...
    @property
    def allowed_rate_bps(self) -> float: ...
    @property
    def target_rate_bps(self) -> float: ...
    def set_cap(self, cap_bps: Optional[float]) -> None: ...
    def set_floor(self, floor_bps: float) -> None: ...
    @property
    def stopped(self) -> Optional[str]: ...
    def resume(self, now: float) -> bool: ...
    @property
    def rate_reason(self) -> str: ...
    def competed_s(self, now: float) -> float: ...
    @property
    def rtt_s(self) -> Optional[float]: ...
    @property
    def loss_event_rate(self) -> float: ...
    @property
    def loss_events(self) -> int: ...
    @property
    def forgotten(self) -> int: ...

@final
class NativeCapture:
    @property
    def text(self) -> str: ...
    @property
    def words(self) -> str: ...
    @property
    def rounds(self) -> Table: ...
    @property
    def reports(self) -> Table: ...

def capture(
    path: str, side: Optional[str], ports: set[int], lost: Optional[set[int]]
) -> NativeCapture: ...
@final
class NativeSimulation:
    @property
    def text(self) -> str: ...
    @property
    def flows(self) -> Table: ...
    @property
    def links(self) -> Table: ...
    @property
    def series(self) -> Optional[Table]: ...
    @property
    def axes(self) -> list[tuple[str, Optional[str]]]: ...

def scenarios() -> list[tuple[str, str, str]]: ...
def simulate(
    kind: str,
    written: str,
    changes: list[str],
    seed: Optional[int],
    runs: Optional[int],
    jobs: int,
    interval_s: Optional[float],
    progress: _Tell,
    code: Code = ...,
) -> NativeSimulation: ...
def quantities() -> dict[str, list[str]]: ...
def points(
    kind: str, written: str, changes: list[str], code: Code
) -> tuple[list[list[tuple[str, str]]], list[list[str]]]: ...
def keys(
    kind: str, written: str, changes: list[str], seed: Optional[int], runs: int, code: Code
) -> list[str]: ...

@final
class RunCache:
    def __new__(cls, folder: str) -> RunCache: ...
    def find(self, key: str, run: int) -> Optional[str]: ...
    def put(self, key: str, outcome: str) -> None: ...

def code_version() -> str: ...
def emulated(answer: str, kept: list[str]) -> dict[str, Any]: ...
def emulation_job(written: str, changes: list[str], run: int, kept: list[str]) -> str: ...
def identity(kind: str, written: str, changes: list[str]) -> tuple[str, int, list[tuple[str, str]]]: ...
def record(kind: str, written: str, changes: list[str], run: int, kept: list[str]) -> dict[str, Any]: ...
def seed_of(seed: int, run: int) -> int: ...
def toml_as_json(text: str) -> str: ...
def whole(written: str, changes: list[str]) -> list[tuple[str, Optional[int]]]: ...
def run_one(
    kind: str,
    written: str,
    changes: list[str],
    seed: Optional[int],
    run: int,
    interval_s: Optional[float],
    code: Code,
) -> str: ...
def axes_of_points(points: list[list[tuple[str, str]]]) -> list[tuple[str, Optional[str]]]: ...
def colour_of(kind: str) -> str: ...
def quantity(written: str) -> Optional[float]: ...
def estimate(values: list[float]) -> tuple[Optional[float], Optional[float]]: ...
def assemble(
    kind: str,
    written: str,
    changes: list[str],
    seed: Optional[int],
    runs: int,
    done: list[str],
    code: Code,
) -> NativeSimulation: ...
def user_cache() -> Optional[str]: ...

@final
class Key:
    """The key of this end of private sessions, known to others by its fingerprint."""

    @staticmethod
    def load_or_make(path: Union[str, PathLike[str]]) -> Key:
        """The key in a file, which is made for its owner alone if it is not there."""
    @staticmethod
    def temporary() -> Key:
        """A new key that no file has."""
    @property
    def fingerprint(self) -> str:
        """`SHA256:` and 43 letters, which the other end has to know."""

@final
class FileCopy:
    """A file that has arrived: the hash of the whole agreed."""

    @property
    def bytes(self) -> int:
        """The length of the file, bytes."""
    @property
    def repaired_bytes(self) -> int:
        """Bytes that went after the first pass, in place of lost ones."""

@final
class Listener:
    """A UDP port that takes sessions: private ones with a key, over DCCP without."""

    def __new__(
        cls,
        address: str,
        *,
        key: Optional[Key] = None,
        allow_keys: Sequence[str] = ...,
        sends: bool = False,
        files: bool = False,
        connections: int = 1,
    ) -> Listener: ...
    @property
    def address(self) -> str:
        """The address that is listened on, `HOST:PORT`."""
    def accept(self, timeout: Optional[float] = None) -> Optional[Session]:
        """The next session; `None` once the listener is closed."""
    def close(self) -> None:
        """Takes no more sessions, and stays for up to some seconds for the ends of others."""
    def __enter__(self) -> Listener: ...
    def __exit__(self, _kind: object, _error: object, _trace: object, /) -> None: ...

@final
class Session:
    """One end of a session. Datagrams keep their boundaries; the network may lose some."""

    def send(self, data: bytes) -> None:
        """Hands over a datagram; waits while many wait already."""
    def recv(self, timeout: Optional[float] = None) -> Optional[bytes]:
        """The next datagram in order of arrival; `None` once the peer sends no more."""
    def close(self, text: str = "") -> Optional[str]:
        """Ends the session, or agrees to its end. Returns the peer's text."""
    def send_file(self, path: Union[str, PathLike[str]]) -> FileCopy:
        """Sends a file until the peer has all of it, and ends the session."""
    def recv_file(self, path: Union[str, PathLike[str]], *, overwrite: bool = False) -> FileCopy:
        """Receives a file under this name, once its hash agrees, and ends the session."""
    @property
    def peer(self) -> Optional[str]:
        """The peer's address, `HOST:PORT`."""
    @property
    def is_private(self) -> bool:
        """True over QUIC: nobody but the two ends can read or change the data."""
    @property
    def max_datagram(self) -> int:
        """The longest datagram that fits into a packet now, bytes."""
    @property
    def allowed_rate_bps(self) -> float:
        """X, the allowed sending rate of data, bit/s."""
    @property
    def rtt_s(self) -> Optional[float]:
        """The round-trip time, seconds; `None` before it was measured."""

def connect(
    address: str,
    *,
    key: Optional[Key] = None,
    peer_key: Optional[str] = None,
    receives: bool = False,
    files: bool = False,
    wait: Optional[float] = None,
) -> Session:
    """Connects to the end that listens at `address`, `HOST:PORT`."""
