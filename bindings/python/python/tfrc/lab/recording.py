"""One run with all that experiments measure of it."""

from __future__ import annotations

import io
import math
import zlib
from dataclasses import dataclass
from typing import Any, Iterable, Union

import numpy as np

from .. import _native
from .statistics import variation

# Bytes sent and received are counted in bins of this width.
BIN_NS = 100_000_000
# States and queues are looked at this often.
LOOK_NS = 10_000_000
# States of a flow that are looked at.
STATES = ("allowed_bps", "p", "rtt_s")


class Recording:
    """The arrays of one run.

    `groups` has the entries of the scenario (name, first flow, number of flows); `of_flows` a row
    for each flow and a column for each of `flow_keys`; `of_links` likewise. `sent` and `received`
    are the bytes of data of each flow in each tenth of a second. `loss_*` are the loss events of
    simulated TFRC flows, those of flow i before `loss_ends[i]`: the time, the interval that it
    closed in packets, and the mean interval from then on. With `looks`, every 10 ms: `allowed_bps`,
    `p` and `rtt_s` of each flow and `queue` of each link in packets. With `link_flows` packets and
    bytes of each flow at each link: arrived, dropped, marked, in profile, in profile and dropped.
    """

    def __init__(self, arrays: dict[str, Any]) -> None:
        self.arrays = arrays

    @classmethod
    def of(cls, kind: str, written: str, changes: list[str], run: int, keep: Iterable[str]) -> Recording:
        """Does the `run`-th run of a scenario."""
        return cls(_native.record(kind, written, changes, run, sorted(keep)))

    def pack(self) -> bytes:
        """The arrays, compressed."""
        file = io.BytesIO()
        arrays: dict[str, Any] = {name: np.asarray(value) for name, value in self._plain().items()}
        np.savez(file, **arrays)
        return zlib.compress(file.getvalue(), 1)

    @classmethod
    def unpack(cls, packed: bytes) -> Recording:
        """Reads the bytes that `pack` made; zlib.error or ValueError for others."""
        with np.load(io.BytesIO(zlib.decompress(packed)), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        names = (arrays.pop("group_names").tolist(), arrays.pop("group_places").tolist())
        arrays["groups"] = [(name, first, count) for name, (first, count) in zip(*names)]
        for name in ("flow_ids", "link_ids", "flow_keys", "link_keys", "kept"):
            arrays[name] = arrays[name].tolist()
        for name in ("packet_hops", "from_ns", "to_ns"):
            arrays[name] = int(arrays[name])
        return cls(arrays)

    def _plain(self) -> dict[str, Any]:
        groups = self.arrays["groups"]
        places = np.array([[first, count] for _, first, count in groups]).reshape(-1, 2)
        rest = {name: value for name, value in self.arrays.items() if name != "groups"}
        return {**rest, "group_names": [name for name, *_ in groups], "group_places": places}


@dataclass(frozen=True)
class Counts:
    """Packets and bytes at a link over the measured time."""

    arrived: tuple[float, float]
    dropped: tuple[float, float]
    marked: tuple[float, float]
    in_profile: tuple[float, float]
    in_profile_dropped: tuple[float, float]

    @property
    def drop_rate(self) -> float:
        """Share of the arriving packets that were dropped."""
        return over(self.dropped[0], self.arrived[0])

    @property
    def in_profile_share(self) -> float:
        """Share of the arriving packets with low drop precedence."""
        return over(self.in_profile[0], self.arrived[0])

    @property
    def in_profile_drop_rate(self) -> float:
        """Share of the packets of low drop precedence that were dropped."""
        return over(self.in_profile_dropped[0], self.in_profile[0])

    @property
    def out_profile_drop_rate(self) -> float:
        """Share of the other packets that were dropped."""
        dropped = self.dropped[0] - self.in_profile_dropped[0]
        return over(dropped, self.arrived[0] - self.in_profile[0])


@dataclass(frozen=True)
class Theta:
    """Loss intervals θ of a flow, and what its receiver estimated them to be (θ̂), sampled at every
    loss event as Rhee and Xu (2007) do; `before` is θ̂ while the interval grew."""

    intervals: Any
    estimates: Any
    before: Any

    @property
    def p(self) -> float:
        """1/E[θ]."""
        return 1.0 / float(np.mean(self.intervals))

    @property
    def p_hat(self) -> float:
        """E[1/θ̂]."""
        return float(np.mean(1.0 / self.estimates))

    @property
    def mean(self) -> float:
        """E[θ], packets."""
        return float(np.mean(self.intervals))

    @property
    def mean_hat(self) -> float:
        """E[θ̂], packets."""
        return float(np.mean(self.estimates))

    @property
    def cv(self) -> float:
        """Coefficient of variation of θ."""
        return variation(self.intervals)

    @property
    def cv_hat(self) -> float:
        """Coefficient of variation of θ̂."""
        return variation(self.estimates)

    @property
    def cov(self) -> float:
        """Covariance of each θ with the θ̂ in force while it grew."""
        ours, theirs = self.intervals - self.intervals.mean(), self.before - self.before.mean()
        return float(np.mean(ours * theirs))

    @property
    def normalized_cov(self) -> float:
        """`cov` times p², as Le Boudec and Vojnović normalise it."""
        return self.cov * self.p**2


class Run:
    """Measures of one run, for a row of an experiment.

    A name stands for a group of flows, for one flow, or, with `*` at its end, for all flows whose
    names begin so; a measure is the mean over these flows. NaN stands for no value. Times are
    seconds of the run; `from_s` and `to_s` bound the time after the warm-up.
    """

    def __init__(self, recording: Recording, keys: dict[str, str]) -> None:
        self._arrays = recording.arrays
        self.keys = keys
        self.from_s = self._arrays["from_ns"] / 1e9
        self.to_s = self._arrays["to_ns"] / 1e9
        self.measured_s = (self._arrays["to_ns"] - self._arrays["from_ns"]) / 1e9

    def number(self, key: str) -> float:
        """The row's key of this name as a number of its SI unit."""
        return number(self.keys[key])

    def each(self, name: str, key: str) -> list[float]:
        """A figure of each of these flows, such as `send_rate_bps`."""
        column = _place(self._arrays["flow_keys"], key, "figure of flows")
        return [float(self._arrays["of_flows"][flow, column]) for flow in self._members(name)]

    def flow(self, name: str, key: str) -> float:
        """The mean of a figure."""
        return mean(self.each(name, key))

    def total(self, name: str, key: str) -> float:
        """The sum of a figure; NaN if a flow has none."""
        return float(sum(self.each(name, key)))

    def spread(self, name: str, key: str) -> float:
        """The coefficient of variation of a figure over the flows."""
        return variation([value for value in self.each(name, key) if not math.isnan(value)])

    def link(self, name: str, key: str) -> float:
        """A figure of a link, such as `utilization`."""
        column = _place(self._arrays["link_keys"], key, "figure of links")
        return float(self._arrays["of_links"][self._link(name), column])

    def rate(self, name: str, start: float, end: float) -> float:
        """The rate of sending between two times, to the tenth of a second, bit/s."""
        return mean(self._rates("sent", name, start, end))

    def goodput(self, name: str, start: float, end: float) -> float:
        """The rate of arrival between two times, to the tenth of a second, bit/s."""
        return mean(self._rates("received", name, start, end))

    def active(self, name: str, start: float, end: float) -> float:
        """The number of flows from which anything arrived between two times."""
        return float(sum(rate > 0.0 for rate in self._rates("received", name, start, end)))

    def end(self, name: str) -> float:
        """When the last data arrived, to the tenth of a second."""
        ends = [np.flatnonzero(self._arrays["received"][flow]) for flow in self._members(name)]
        return mean([(int(bins[-1]) + 1) * 0.1 if len(bins) else math.nan for bins in ends])

    def cov(self, name: str, scale: float) -> float:
        """The coefficient of variation of the rate of sending at a time scale."""
        return mean([variation(self._stretches(flow, scale)) for flow in self._members(name)])

    def equivalence(self, a: str, b: str, scale: float) -> float:
        """The equivalence ratio of the first flows of two groups at a time scale (Floyd, Handley,
        Padhye, Widmer 2000, §4.1.1)."""
        ours, theirs = (self._stretches(self._members(name)[0], scale) for name in (a, b))
        greater = np.maximum(ours, theirs)
        sent = greater > 0
        return mean(np.minimum(ours, theirs)[sent] / greater[sent])

    def meets(self, a: str, b: str, factor: float, stretch: float) -> float:
        """The end of the first stretch in which the goodputs of two groups differ by at most a
        factor."""
        start, step = 0, _ns(stretch)
        while step > 0 and start + step <= self._arrays["to_ns"]:
            end = start + step
            ours, theirs = (mean(self._between("received", name, start, end)) for name in (a, b))
            if ours > 0.0 and ours <= theirs * factor and theirs <= ours * factor:
                return end / 1e9
            start = end
        return math.nan

    def thetas(self, name: str) -> list[Theta]:
        """The loss intervals of each flow that had two or more in the measured time."""
        return [theta for flow in self._members(name) if (theta := self._theta(flow)) is not None]

    def theta(self, name: str, key: str) -> float:
        """A property of the loss intervals, such as `p`, `p_hat` or `normalized_cov` of `Theta`."""
        return mean([getattr(theta, key) for theta in self.thetas(name)])

    def counts(self, link: str, name: str) -> Counts:
        """The packets of these flows at a link, all flows together; needs `link_flows`."""
        counts = self._kept("link_flows")[self._link(link)][self._members(name)].sum(axis=0)
        return Counts(*((float(packets), float(size)) for packets, size in counts.reshape(5, 2)))

    def queue(self, link: str, start: Union[float, None] = None, end: Union[float, None] = None) -> Any:
        """The packets that waited at a link at each look, between two times or in the measured time;
        needs `looks`."""
        start, end = (self.from_s if start is None else start), (self.to_s if end is None else end)
        return self._looks(self._kept("queue")[self._link(link)], start, end)[1]

    def state(self, name: str, key: str, at: float) -> float:
        """A state of the flows at a time: `allowed_bps`, `p` or `rtt_s`; needs `looks`."""
        look = _ns(at) // LOOK_NS - 1
        rows = self._kept(key)[self._members(name)]
        return mean(rows[:, look]) if 0 <= look < rows.shape[1] else math.nan

    def states(self, name: str, key: str, start: float, end: float) -> list[tuple[Any, Any]]:
        """The times and values of a state of each flow between two times; needs `looks`."""
        return [self._looks(row, start, end) for row in self._kept(key)[self._members(name)]]

    def over_time(self, name: str, key: str, start: float, end: float, of: Any = np.mean) -> float:
        """A state between two times, by its mean or by another function of an array."""
        values = [values for _, values in self.states(name, key, start, end)]
        return mean([float(of(some)) if len(some) else math.nan for some in values])

    def first(self, name: str, key: str, start: float, holds: Any) -> float:
        """When a state first fulfils a condition on an array, after a time."""
        found = []
        for times, values in self.states(name, key, start, self.to_s):
            places = np.flatnonzero(holds(values))
            found.append(float(times[places[0]]) if len(places) else math.nan)
        return mean(found)

    def _members(self, name: str) -> list[int]:
        for group, first, count in self._arrays["groups"]:
            if group == name:
                return list(range(first, first + count))
        ids = self._arrays["flow_ids"]
        fits = name[:-1] if name.endswith("*") else None
        found = [i for i, one in enumerate(ids) if (one == name if fits is None else one.startswith(fits))]
        if not found:
            known = ", ".join(dict.fromkeys(group for group, *_ in self._arrays["groups"]))
            raise KeyError(f"there is no flow {name!r}; there are {known}")
        return found

    def _link(self, name: str) -> int:
        return _place(self._arrays["link_ids"], name, "link")

    def _kept(self, what: str) -> Any:
        if what not in self._arrays:
            word = "link_flows" if what == "link_flows" else "looks"
            raise ValueError(f"the run did not keep {what!r}: give its run keep=[{word!r}]")
        return self._arrays[what]

    def _rates(self, what: str, name: str, start: float, end: float) -> list[float]:
        return self._between(what, name, _ns(start), _ns(end))

    def _between(self, what: str, name: str, start: int, end: int) -> list[float]:
        bins = max(end - start, 0) // BIN_NS
        rows = self._arrays[what][self._members(name), start // BIN_NS : end // BIN_NS]
        if bins == 0:
            return [math.nan] * len(rows)
        return [int(row.sum()) * 8.0 / (bins * 0.1) for row in rows]

    def _stretches(self, flow: int, scale: float) -> Any:
        """The bytes sent in consecutive stretches of the measured time."""
        width = max(_ns(scale) // BIN_NS, 1)
        first, end = self._arrays["from_ns"] // BIN_NS, self._arrays["to_ns"] // BIN_NS
        bins = self._arrays["sent"][flow, first:end].astype(float)
        whole = (end - first) // width * width
        bins = np.pad(bins, (0, max(whole - len(bins), 0)))[:whole]
        return bins.reshape(-1, width).sum(axis=1)

    def _looks(self, row: Any, start: float, end: float) -> tuple[Any, Any]:
        first, last = _ns(start) // LOOK_NS, min(_ns(end) // LOOK_NS, len(row))
        values = row[first:last]
        there = ~np.isnan(values)
        times = (np.arange(first, first + len(values)) + 1) * LOOK_NS / 1e9
        return times[there], values[there]

    def _theta(self, flow: int) -> Union[Theta, None]:
        arrays = self._arrays
        first = int(arrays["loss_ends"][flow - 1]) if flow else 0
        end = int(arrays["loss_ends"][flow])
        # The first interval of all is made up (RFC 5348 §6.3.1).
        later = np.flatnonzero(arrays["loss_at_ns"][first + 1 : end] >= arrays["from_ns"])
        if len(later) < 2:
            return None
        start = first + 1 + int(later[0])
        means = arrays["loss_mean"]
        return Theta(arrays["loss_interval"][start:end], means[start:end], means[start - 1 : end - 1])


def _ns(seconds: float) -> int:
    return round(max(seconds, 0.0) * 1e9)


def _place(names: list[str], name: str, what: str) -> int:
    try:
        return names.index(name)
    except ValueError:
        raise KeyError(f"there is no {what} {name!r}; there are {', '.join(names)}") from None


def mean(values: Any) -> float:
    """The mean of the values that are numbers; NaN if none is."""
    known = [float(value) for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def over(a: float, b: float) -> float:
    """a / b, NaN for b = 0."""
    return a / b if b else math.nan


def number(text: str) -> float:
    """A written quantity as a number of its SI unit; NaN for any other text."""
    found = _native.quantity(text)
    return math.nan if found is None else float(found)
