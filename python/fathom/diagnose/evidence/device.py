"""The time series of one device in one layer, with the metrics that follow from others: the sum of reads and writes,
means weighted by their counts, and by Little's law the requests outstanding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fathom.diagnose.clock import NS
from fathom.diagnose.metrics import METRICS, Kind, Layer
from fathom.diagnose.windows import TOTAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

_SUMS = {"iops": ("read_iops", "write_iops"), "bytes_per_s": ("read_bytes_per_s", "write_bytes_per_s")}
_PARTS = {
    "latency_s": ("read_latency_s", "write_latency_s"),
    "device_latency_s": ("read_device_latency_s", "write_device_latency_s"),
    "queue_latency_s": ("read_queue_latency_s", "write_queue_latency_s"),
    "kernel_latency_s": ("read_kernel_latency_s", "write_kernel_latency_s"),
}
_SIZES = {
    "size_bytes": ("bytes_per_s", "iops"),
    "read_size_bytes": ("read_bytes_per_s", "read_iops"),
    "write_size_bytes": ("write_bytes_per_s", "write_iops"),
}
_TIMES = {
    "read_latency_s": ("read_outstanding_mean", "read_iops"),
    "write_latency_s": ("write_outstanding_mean", "write_iops"),
}
"""Clouds count the time of all requests: where that and their number are in two logs, latency is one over the other."""
_THROTTLED = {
    "iops_exceeded": ("iops", ("read_throttled_iops", "write_throttled_iops")),
    "bytes_exceeded": ("bytes_per_s", ("read_throttled_bytes_per_s", "write_throttled_bytes_per_s")),
}
_HELD_BACK = 0.05
"""Part of what was done from which the load tried to pass the limit, where a cloud counts what it held back."""
_AS_STATED = {"outstanding_mean"}
"""What is only taken from others where no log has it: during a stall Little's law sees no queue."""


class Rescaled(NamedTuple):
    """Why latencies count as milliseconds: what rate × latency needs, what the log says, in which intervals."""

    needs: float
    says: float
    chosen: Flags


class Impossible(NamedTuple):
    """Moments whose latencies are left out, the longest of them, and the length of the log."""

    chosen: Flags
    longest_s: float
    length_s: float


def average(values: Floats, weights: Floats, chosen: Flags | None = None) -> float:
    """The weighted mean of what is known of the chosen moments; NaN where nothing is."""
    good = np.isfinite(values) & (weights > 0)
    if chosen is not None:
        good &= chosen
    return float(np.average(values[good], weights=weights[good])) if good.any() else float("nan")


@dataclass
class Device:
    """One device of one layer.

    Attributes:
        layer, host, device: as in the table.
        times_ns: moments, ascending, nanoseconds since 1970, UTC.
        seconds: length of each interval.
        measured: metric to values, one per moment, NaN where missing; only what the logs hold.
        shared: whether other hosts have a device of this name as well.
        rescaled: why its latencies were divided by 1,000; None where they were not.
        leaked: requests that the operating system counts as outstanding for ever, and that are left out; None for none.
        impossible: latencies that are longer than the log, and are left out; None for none.
        begins: whether the first moment is the log's beginning, which has a state and no interval before it.
    """

    layer: Layer
    host: str | None
    device: str | None
    times_ns: NDArray[np.int64]
    seconds: Floats
    measured: dict[str, Floats]
    rescaled: Rescaled | None = None
    leaked: float | None = None
    impossible: Impossible | None = None
    shared: bool = False
    begins: bool = False
    _derived: dict[str, Floats | None] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """For people: the device, with its host where others have one of that name; else the host, else the layer."""
        if not self.device:
            return self.host or self.layer.value
        whole = "all databases" if self.layer is Layer.DATABASE else "all disks together"
        name = whole if self.device == TOTAL else self.device
        return f"{name} on {self.host}" if self.shared and self.host else name

    @property
    def interval_s(self) -> float:
        """Median length of the intervals."""
        return float(np.median(self.seconds)) if len(self.seconds) else float("nan")

    def get(self, metric: str) -> Floats | None:
        """A metric as measured, else as it follows from others; None where neither has a single value.

        Moment by moment: of two logs of one disk only one may have the metric itself.
        """
        if metric not in self._derived:
            self._derived[metric] = self._filled(metric)
        return self._derived[metric]

    def values(self, metric: str) -> Floats:
        """As `get`, but all missing instead of None."""
        found = self.get(metric)
        return np.full(len(self.times_ns), np.nan) if found is None else found

    def has(self, *metrics: str) -> bool:
        """Whether there is any value of each of these metrics."""
        return all(self.get(metric) is not None for metric in metrics)

    @property
    def load(self) -> Floats:
        """Requests outstanding: averaged over the interval where that is known, else at its end."""
        mean = self.values("outstanding_mean")
        return np.where(np.isfinite(mean), mean, self.values("outstanding"))

    def mean(self, metric: str, chosen: Flags | None = None) -> float:
        """The mean over time as the metric's kind demands; NaN where there is no value."""
        return average(self.values(metric), self.weights(metric), chosen)

    def weights(self, metric: str) -> Floats:
        """What each moment's value counts for in a mean over time."""
        known = METRICS[metric]
        if known.kind is Kind.AVERAGE and known.weight is not None and self.get(known.weight) is not None:
            return np.nan_to_num(self.values(known.weight) * self.seconds, nan=0.0)
        return self.seconds

    def span(self, chosen: Flags) -> tuple[int | None, int | None]:
        """Start and end of the chosen moments, in ns; None for none."""
        places = np.flatnonzero(chosen)
        if not len(places):
            return None, None
        length_s = 0.0 if self.begins and places[0] == 0 else self.seconds[places[0]]
        first = int(self.times_ns[places[0]] - length_s * NS)
        return first, int(self.times_ns[places[-1]])

    def _filled(self, metric: str) -> Floats | None:
        measured = self.measured.get(metric)
        if measured is not None and (metric in _AS_STATED or not np.isnan(measured).any()):
            return measured
        derived = self._derive(metric)
        if measured is None or derived is None:
            return derived if measured is None else measured
        return np.where(np.isnan(measured), derived, measured)

    def _derive(self, metric: str) -> Floats | None:
        if metric in _SUMS:
            return _added([self.measured.get(name) for name in _SUMS[metric]])
        if metric in _PARTS:
            joined = self._joined(*_PARTS[metric])
            return self._of_queue() if joined is None and metric == "latency_s" else joined
        if metric in _SIZES:
            amount, count = (self.get(name) for name in _SIZES[metric])
            return None if amount is None or count is None else _ratio(amount, count)
        if metric in _TIMES and self.layer is Layer.CLOUD_VOLUME:
            time, rate = (self.measured.get(name) for name in _TIMES[metric])
            return None if time is None or rate is None else _ratio(time, rate)
        if metric in _THROTTLED:
            return self._held_back(*_THROTTLED[metric])
        if metric == "outstanding_mean":
            return self._by_little()
        return None

    def _joined(self, of_reads: str, of_writes: str) -> Floats | None:
        """Mean over reads and writes from their own means."""
        total, count = np.zeros(len(self.times_ns)), np.zeros(len(self.times_ns))
        for mean, rate in ((of_reads, "read_iops"), (of_writes, "write_iops")):
            value, weight = self.get(mean), self.measured.get(rate)
            if value is None:
                continue
            weights = np.ones(len(value)) if weight is None else np.nan_to_num(weight, nan=0.0)
            good = np.isfinite(value) & (weights > 0)
            total[good] += (value * weights)[good]
            count[good] += weights[good]
        found = _ratio(total, count)
        return found if np.isfinite(found).any() else None

    def _held_back(self, rate: str, parts: tuple[str, ...]) -> Floats | None:
        """1 where a good part of the requests was held back, else 0. Where none was, a cloud may write nothing."""
        known = [part for name in parts if (part := self.measured.get(name)) is not None]
        if not known:
            return None
        held, done = np.nansum(known, axis=0), self.get(rate)
        if done is None:
            return np.where(np.isfinite(known).any(axis=0), held > 0, np.nan)
        return np.where(np.isfinite(done), (held > 0) & (held >= _HELD_BACK * np.nan_to_num(done)), np.nan)

    def _of_queue(self) -> Floats | None:
        """By Little's law from the queue that a cloud counts of a volume, and its rate."""
        queue, rate = self.measured.get("outstanding_mean"), self.get("iops")
        if self.layer is not Layer.CLOUD_VOLUME or queue is None or rate is None:
            return None
        return _ratio(queue, rate)

    def _by_little(self) -> Floats | None:
        parts = [self.measured.get(f"{way}_outstanding_mean") for way in ("read", "write")]
        if any(part is not None for part in parts):
            return _added(parts)
        rate, latency = self.get("iops"), self.get("latency_s")
        if rate is None or latency is None:
            return None
        return np.where(rate == 0, 0.0, rate * latency)


def _added(parts: list[Floats | None]) -> Floats | None:
    known = [part for part in parts if part is not None]
    if not known:
        return None
    # A part that is missing at a moment makes the sum missing: taken for zero, it would look like a stall.
    found: Floats = np.sum(known, axis=0)
    return found


def _ratio(amount: Floats, count: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count > 0, amount / count, np.nan)
