"""What the logs hold of one system: devices by layer, what sessions wait for, and the facts beside the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from fathom.diagnose.clock import NS
from fathom.diagnose.evidence.device import Device
from fathom.diagnose.evidence.files import apart
from fathom.diagnose.evidence.impossible import without_impossible
from fathom.diagnose.evidence.leak import without_leak
from fathom.diagnose.evidence.limits import Limits
from fathom.diagnose.evidence.regime import Regime, regimes_of
from fathom.diagnose.evidence.surroundings import is_behind, is_mount, ruled_out
from fathom.diagnose.evidence.unit import in_seconds
from fathom.diagnose.linux import disk_of
from fathom.diagnose.metrics import METRICS, Kind, Layer
from fathom.diagnose.windows import TOTAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fathom.diagnose.facts import Fact, LogNotes
    from fathom.diagnose.log import Log

MOST_DEVICES = 48
"""Devices of a layer that are judged, the busiest first: a host of thousands of LUNs must not fill the memory."""

_BUSY = ("outstanding_mean", "outstanding", "iops", "read_iops", "write_iops", "wait_s_per_s", "active_sessions")
_KEY = ("layer", "host", "device")
_GUEST = (Layer.GUEST_DISK, Layer.GUEST_VOLUME)
_STORAGE = {*_GUEST, Layer.CLOUD_VOLUME, Layer.VIRTUAL_DISK, Layer.HOST_KERNEL, Layer.HOST_DEVICE, Layer.DATABASE_FILE}
"""Layers of what takes requests."""
_SAME_RATE, _SAME_LATENCY, _SAME_MOMENT = 0.02, 0.1, 0.1
"""How near the figures of two devices are that see the same requests: means, and the rate of any moment."""
_BEYOND = 1e18
"""No rate, size or time of a device: such a value is damage, and counts as missing."""


_Key = tuple[str, str | None, str | None]


class _Piece(NamedTuple):
    """A part of one series."""

    metric: str
    times_ns: NDArray[np.int64]
    seconds: NDArray[np.float64]
    values: NDArray[np.float64]


@dataclass
class System:
    """What rules look at.

    Attributes:
        devices: every device, by layer from the top, busiest first within one.
        notes: one entry per log.
        limits: the known limits of volumes, instances and queues.
        left_out: devices that were not looked at, as the layer has more than `MOST_DEVICES`.
    """

    devices: list[Device]
    notes: Sequence[LogNotes]
    limits: Limits
    left_out: int = 0

    def of(self, *layers: Layer) -> list[Device]:
        """The devices of some layers."""
        return [device for device in self.devices if device.layer in layers]

    @cached_property
    def regimes(self) -> tuple[tuple[Device, Regime], ...]:
        """Busiest volumes that reach a ceiling, each with how it does: several rules ask, and the fit takes time."""
        return tuple(regimes_of(self.volumes))

    @cached_property
    def disks(self) -> list[Device]:
        """Disks as the operating system sees them, or its volumes where the disks were not recorded.

        A volume that is also there as a disk (LogicalDisk D: of PhysicalDisk 1 D:) counts once, and so does a disk with
        a device of the device mapper that only passes its requests on. A mount stands on no disk of its machine.
        """
        disks = self.of(Layer.GUEST_DISK)
        words = {word for disk in disks for word in (disk.device or "").split() if word.endswith(":")}
        named = {disk.host for disk in disks}
        volumes = [
            each for each in self.of(Layer.GUEST_VOLUME)
            if each.host not in named or is_mount(each)
            or (words and (each.device or "") not in words and _is_letter(each.device))
        ]  # fmt: skip
        kinds = ("iops", "outstanding", "outstanding_mean")
        found = [each for each in (*disks, *volumes) if any(each.has(kind) for kind in kinds)]
        return [each for each in found if not any(_passes_on(each, below) for below in found)]

    @cached_property
    def volumes(self) -> list[Device]:
        """Whatever takes requests and may have a limit: disks, and volumes as the cloud measures them."""
        return [*self.disks, *self.of(Layer.CLOUD_VOLUME)]

    @cached_property
    def nearest(self) -> list[Device]:
        """What takes requests, where it was measured closest to who waits: disks and volumes, else what the hypervisor
        sees of them, else files as the database sees them. Files of which none of these tells stand beside them.
        """
        layers = Layer.VIRTUAL_DISK, Layer.HOST_KERNEL, Layer.HOST_DEVICE, Layer.DATABASE_FILE
        others = (
            [each for each in self.of(layer) if each.has("iops", "latency_s") and not is_behind(each.device)]
            for layer in layers
        )
        rated = [each for each in self.volumes if each.has("iops")]
        found = rated or next((each for each in others if each), self.volumes)
        return found if any(each.layer is Layer.DATABASE_FILE for each in found) else [*found, *apart(self, found)]

    def beside(self, device: Device) -> System:
        """The system without what was measured at another time than a device, storage aside: who waits at another time
        waits for something else.
        """
        kept = [each for each in self.devices if each.layer in _STORAGE or _meet(each, device)]
        return self if len(kept) == len(self.devices) else replace(self, devices=kept)

    @cached_property
    def hosts(self) -> list[Device]:
        """Operating systems: processor and memory."""
        return [device for device in self.of(Layer.HOST) if device.device is None]

    @cached_property
    def databases(self) -> list[Device]:
        """Database servers and their databases."""
        return self.of(Layer.DATABASE)

    @cached_property
    def ruled_out(self) -> frozenset[str]:
        """What the system is not, or has not, by what the logs say of it: no advice may name it."""
        return ruled_out(self)

    @property
    def facts(self) -> Iterator[Fact]:
        """Every fact of every log."""
        for notes in self.notes:
            yield from notes.facts

    def fact(self, name: str, subject: str | None = None) -> str | None:
        """The first fact of a name, about the subject if one is given."""
        return next((f.value for f in self.facts if f.name == name and subject in (None, f.subject)), None)

    def number(self, name: str, subject: str | None = None) -> float | None:
        """As `fact`, as a number; None where it is none."""
        text = self.fact(name, subject)
        try:
            return None if text is None else float(text)
        except ValueError:
            return None


def _passes_on(upper: Device, below: Device) -> bool:
    """Whether a device of the device mapper is a second name for a disk: the same requests, which take as long."""
    if not (upper.device or "").startswith("dm-") or (below.device or "").startswith("dm-") or upper.host != below.host:
        return False
    if len(upper.times_ns) != len(below.times_ns) or not (upper.times_ns == below.times_ns).all():
        return False
    rates, latencies = ((upper.mean(name), below.mean(name)) for name in ("iops", "latency_s"))
    moves = np.nanmax(np.abs(upper.values("iops") - below.values("iops")), initial=0.0)
    return (
        abs(rates[0] - rates[1]) <= _SAME_RATE * rates[1]
        and abs(latencies[0] - latencies[1]) <= _SAME_LATENCY * latencies[1]
        and float(moves) <= _SAME_MOMENT * float(np.nanmax(below.values("iops"), initial=0.0))
    )


def _is_letter(device: str | None) -> bool:
    return len(device or "") == 2 and str(device).endswith(":")


def system_of(log: Log, limits: Limits) -> System:
    """The log's samples as devices."""
    busy = pl.col("metric").is_in(_BUSY) & (pl.col("samples") > 0)
    total, count = pl.col("mean") * pl.col("samples"), pl.col("samples")
    ranked = (
        log.series.group_by(_KEY, maintain_order=True)
        .agg((total.filter(busy).sum() / count.filter(busy).sum()).fill_nan(0.0).alias("busy"))
        .sort("busy", descending=True, maintain_order=True)
        .filter(pl.int_range(pl.len()).over("layer") < MOST_DEVICES)
    )
    kept: dict[_Key, list[_Piece]] = {row: [] for row in ranked.sort("layer", maintain_order=True).select(_KEY).rows()}
    for block in log.blocks():
        for place, series in enumerate(block.series):
            pieces = kept.get((series.layer, series.host, series.device))
            if pieces is not None:
                # A copy: the block goes, its other columns with it.
                pieces.append(_Piece(series.metric, block.times_ns, block.seconds, block.values[:, place].copy()))
    devices = [without_leak(without_impossible(in_seconds(_device(key, pieces)))) for key, pieces in kept.items()]
    devices = _beside_storage(_without_parts(_without_totals([each for each in devices if each.measured])))
    hosts: dict[tuple[Layer, str | None], set[str | None]] = {}
    for each in devices:
        hosts.setdefault((each.layer, each.device), set()).add(each.host)
    for each in devices:
        each.shared = len(hosts[each.layer, each.device]) > 1
    every = log.series.select(_KEY).n_unique()
    kernels = [fact.value for notes in log.notes for fact in notes.facts if fact.name == "os"]
    return System(devices, log.notes, limits.where(kernels), every - len(kept))


def _without_totals(devices: list[Device]) -> list[Device]:
    """Windows' sum over all disks only where a host has no disk or volume of its own in the log."""
    own = {each.host for each in devices if each.layer in _GUEST and each.device != TOTAL}
    return [each for each in devices if each.layer not in _GUEST or each.device != TOTAL or each.host not in own]


def _without_parts(devices: list[Device]) -> list[Device]:
    """No partition beside its disk: its requests are the disk's."""
    disks = {(each.host, each.device) for each in devices if each.layer is Layer.GUEST_DISK}

    def is_part(each: Device) -> bool:
        disk = disk_of(each.device or "") if each.layer is Layer.GUEST_DISK else None
        return disk is not None and (each.host, disk) in disks

    return [each for each in devices if not is_part(each)]


def _beside_storage(devices: list[Device]) -> list[Device]:
    """What was measured at the time of some storage: who waits at another time waits for something else."""
    storage = [each for each in devices if each.layer in _STORAGE and _is_used(each)]
    return [each for each in devices if each.layer in _STORAGE or not storage or any(_meet(each, o) for o in storage)]


def _is_used(device: Device) -> bool:
    """Whether a device has what tells of its requests."""
    return any(device.has(metric) for metric in ("iops", "outstanding_mean", "outstanding"))


def _meet(one: Device, other: Device) -> bool:
    """Whether two devices share some time."""
    begins = [int(each.times_ns[0] - each.seconds[0] * NS) for each in (one, other)]
    return bool(max(begins) <= min(one.times_ns[-1], other.times_ns[-1]))


def _device(key: _Key, pieces: Sequence[_Piece]) -> Device:
    """The series of one device on its common moments; several values of one moment count with their mean."""
    layer, host, device = key
    moments = {id(each.times_ns): each for each in pieces}
    times = np.unique(np.concatenate([each.times_ns for each in moments.values()]))
    places = {name: np.searchsorted(times, each.times_ns) for name, each in moments.items()}
    lengths = np.full(len(times), np.nan)
    for name, each in moments.items():
        np.fmax.at(lengths, places[name], each.seconds)
    measured = {}
    for metric in dict.fromkeys(each.metric for each in pieces):
        parts = [each for each in pieces if each.metric == metric]
        values = np.concatenate([each.values for each in parts])
        where = np.concatenate([places[id(each.times_ns)] for each in parts])
        good = np.abs(values) < _BEYOND
        counts = np.bincount(where[good], minlength=len(times))
        if counts.any():
            sums = np.bincount(where[good], values[good], minlength=len(times))
            measured[metric] = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    # Counters tell of an interval from their second look on; a state of the first look covers nothing before it.
    counted = [values[0] for metric, values in measured.items() if METRICS[metric].kind is not Kind.GAUGE]
    begins = bool(np.isnan(lengths[0]) and np.isfinite(lengths).any() and not np.isfinite(counted).any())
    return Device(Layer(layer), host, device, times, _seconds(lengths, times), measured, begins=begins)


def _seconds(lengths: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Lengths of intervals; where the log does not tell, the usual step."""
    steps = np.diff(times) / NS
    usual = np.nanmedian(lengths) if np.isfinite(lengths).any() else (np.median(steps) if len(steps) else 1.0)
    return np.where(np.isfinite(lengths) & (lengths > 0), lengths, usual)
