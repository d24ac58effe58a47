"""All that the logs say of one system: devices by layer, what sessions wait for, and the facts beside the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fathom.diagnose.clock import NS
from fathom.diagnose.evidence.device import Device
from fathom.diagnose.evidence.limits import Limits
from fathom.diagnose.metrics import Layer
from fathom.diagnose.windows import TOTAL

if TYPE_CHECKING:
    from fathom.diagnose.facts import Fact, Told
    from fathom.diagnose.log import Log

MOST_DEVICES = 48
"""Devices of a layer that are judged, the busiest first: a host of thousands of LUNs must not fill the memory."""

_BUSY = ("outstanding_mean", "outstanding", "iops", "read_iops", "write_iops", "wait_s_per_s", "active_sessions")
_KEY = ("layer", "host", "device")
_GUEST = (Layer.GUEST_DISK, Layer.GUEST_VOLUME)


@dataclass
class System:
    """What rules look at.

    Attributes:
        devices: every device, by layer from the top, busiest first within one.
        told: one entry per log.
        limits: the known limits of volumes, instances and queues.
        left_out: devices that were not looked at, as the layer has more than `MOST_DEVICES`.
    """

    devices: list[Device]
    told: Sequence[Told]
    limits: Limits
    left_out: int = 0

    def of(self, *layers: Layer) -> list[Device]:
        """The devices of some layers."""
        return [device for device in self.devices if device.layer in layers]

    @cached_property
    def disks(self) -> list[Device]:
        """Disks as the operating system sees them, or its volumes where the disks were not recorded.

        A volume that is also there as a disk (LogicalDisk D: of PhysicalDisk 1 D:) counts once.
        """
        disks = self.of(Layer.GUEST_DISK)
        words = {word for disk in disks for word in (disk.device or "").split() if word.endswith(":")}
        named = {disk.host for disk in disks}
        volumes = [
            each for each in self.of(Layer.GUEST_VOLUME)
            if each.host not in named or (words and (each.device or "") not in words and _is_letter(each.device))
        ]  # fmt: skip
        return [each for each in (*disks, *volumes) if each.has("iops") or each.get("outstanding") is not None]

    @cached_property
    def volumes(self) -> list[Device]:
        """Whatever takes requests and may have a limit: disks, and volumes as the cloud measures them."""
        return [*self.disks, *self.of(Layer.CLOUD_VOLUME)]

    @cached_property
    def hosts(self) -> list[Device]:
        """Operating systems: processor and memory."""
        return [device for device in self.of(Layer.HOST) if device.device is None]

    @cached_property
    def databases(self) -> list[Device]:
        """Database servers and their databases."""
        return self.of(Layer.DATABASE)

    @property
    def facts(self) -> Iterator[Fact]:
        """Every fact of every log."""
        for told in self.told:
            yield from told.facts

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


def _is_letter(device: str | None) -> bool:
    return len(device or "") == 2 and str(device).endswith(":")


def system_of(log: Log, limits: Limits) -> System:
    """The log's samples as devices."""
    names = pl.col("layer", "host", "device", "metric").cast(pl.String)
    busy = pl.col("value").filter(pl.col("metric").is_in(_BUSY)).mean().fill_null(0.0)
    table = log.samples.with_columns(names)
    ranked = (
        table.group_by(_KEY).agg(busy.alias("busy")).sort("busy", descending=True)
        .with_columns(pl.int_range(pl.len()).over("layer").alias("place")).collect(engine="streaming")
    )  # fmt: skip
    kept = ranked.filter(pl.col("place") < MOST_DEVICES).select(_KEY)
    rows = table.join(kept.lazy(), on=_KEY, how="semi", nulls_equal=True).collect(engine="streaming")
    order = {layer.value: place for place, layer in enumerate(Layer)}
    devices = [_device(part) for part in rows.partition_by(_KEY)]
    places = {tuple(row): place for place, row in enumerate(kept.iter_rows())}
    devices.sort(key=lambda d: (order[d.layer], places[d.layer.value, d.host, d.device]))
    devices = _without_totals([each for each in devices if each.measured])
    return System(devices, log.told, limits, ranked.height - kept.height)


def _without_totals(devices: list[Device]) -> list[Device]:
    """Windows' sum over all disks only where a host has no disk or volume of its own in the log."""
    own = {each.host for each in devices if each.layer in _GUEST and each.device != TOTAL}
    return [each for each in devices if each.layer not in _GUEST or each.device != TOTAL or each.host not in own]


def _device(part: pl.DataFrame) -> Device:
    layer, host, device = part.select(_KEY).row(0)
    wide = part.pivot("metric", index="time", values="value", aggregate_function="mean").sort("time")
    lengths = part.group_by("time").agg(pl.col("seconds").max()).sort("time")["seconds"]
    times = wide["time"].dt.epoch("ns").to_numpy()
    measured = {name: wide[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in wide.columns[1:]}
    measured = {name: values for name, values in measured.items() if np.isfinite(values).any()}
    return Device(Layer(layer), host, device, times, _seconds(lengths.fill_null(np.nan).to_numpy(), times), measured)


def _seconds(lengths: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Lengths of intervals; where the log does not tell, the usual step."""
    steps = np.diff(times) / NS
    usual = np.nanmedian(lengths) if np.isfinite(lengths).any() else (np.median(steps) if len(steps) else 1.0)
    return np.where(np.isfinite(lengths) & (lengths > 0), lengths, usual)
