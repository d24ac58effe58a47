"""A device at its highest rate: more is outstanding, no more is completed, and latency grows in proportion.

A load that asks for one rate while others slow the device looks the same in rate and latency. It is told apart by the
rest of the log: there the rate follows the load, or the device was busy and slow already with few outstanding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.load import FEWEST, IDLE_LOAD, LARGE_BYTES, TIGHT, busy, middle, worked
from fathom.diagnose.evidence.surroundings import VMWARE, is_nvme
from fathom.diagnose.evidence.tier import tier_of

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags, Floats
    from fathom.diagnose.evidence.limits import Tier
    from fathom.diagnose.evidence.system import System

_HELD, _ABOVE = 0.8, 0.02
"""Share of the most loaded moments at the ceiling, and of all moments that may be above: the first one is often odd."""
_WIDEST = 0.2
_GROWN, _WAITS = 2.0, 1.7
"""Growth of the requests outstanding at one rate, and times the usual latency, from which more load only waits."""
_SERVED, _FEWEST_SERVED = 1.35, 0.3
_FULL_PERCENT, _BUSY_PERCENT = 99.0, 95.0
_EVEN = 0.7
"""Scatter of a rate, as a part of that of independent arrivals, below which a server sets the pace."""
_ROTATING_IOPS = 400.0
_DEEP = 4.0
_SINGLE = {"rotating disk", "disk of unknown kind"}
"""Kinds that may serve one request after the other."""


@dataclass(frozen=True)
class Saturated:
    """A rate that does not rise.

    Attributes:
        metric: "iops" or "bytes_per_s".
        level: median of the rate, in the metric's unit.
        within: relative distance from it that nine of ten moments keep.
        load: least and most outstanding at this rate.
        latency_s: the latency at both.
        busy_percent: how busy the device was; NaN where not recorded.
        knee: requests outstanding from which on more only wait; None where the log has no quieter time.
        chosen: the moments.
        quiet: moments of a lower rate and latency.
        confidence: that it is the device, 0 to 1.
    """

    metric: str
    level: float
    within: float
    load: tuple[float, float]
    latency_s: tuple[float, float]
    busy_percent: float
    knee: float | None
    chosen: Flags
    quiet: Flags
    confidence: float

    @property
    def is_constant(self) -> bool:
        """Whether as much was outstanding all the time."""
        return self.load[1] < _GROWN * self.load[0]


def at_ceiling(system: System, disk: Device) -> Saturated | None:
    """As `saturated`, by what the logs say of the disk's kind."""
    tier = tier_of(system, disk)
    # A volume of a cloud or a local NVMe disk serves many requests at once, however few it completes.
    rotates = tier.name in _SINGLE and VMWARE not in system.ruled_out and not is_nvme(disk.device)
    return saturated(disk, tier, rotates=rotates)


def saturated(disk: Device, tier: Tier, *, rotates: bool = False) -> Saturated | None:
    """The highest rate of a device, where it waits longer than its kind should.

    Args:
        disk: what takes the requests.
        tier: its kind.
        rotates: whether it may be a rotating disk: then its rate alone may show that it can do no more.
    """
    found = [each for metric in ("iops", "bytes_per_s") if (each := _ceiling(disk, metric)) is not None]
    if not found:
        return None
    # Of requests of one size both are level; throughput is what counts where sizes differ, or where they are large.
    large = middle(disk.values("size_bytes")[found[0][2]]) >= LARGE_BYTES
    metric, level, chosen = min(
        found, key=lambda each: (large and each[0] == "iops", _spread(disk, each) * (1.0 if each[0] == "iops" else 1.5))
    )
    load, latency = disk.load, disk.values("latency_s")
    most = chosen & (load >= 0.9 * np.percentile(load[chosen], 95))
    if not middle(latency[most]) > tier.target_s:
        return None
    quiet = _quiet(disk, metric, level, chosen, middle(latency[most]))
    knee = _iops(disk, chosen) * middle(latency[quiet]) if quiet.any() else None
    few = _few(disk, metric, level, chosen)
    sure = _sure(disk, metric, chosen, few, quiet, tier, rotates=rotates)
    if sure is None:
        return None
    chosen = chosen if quiet.any() else chosen | few
    low, high = np.percentile(load[chosen], [5, 95])
    least = chosen & (load <= 1.1 * low)
    return Saturated(
        metric, level, float(np.percentile(np.abs(disk.values(metric)[chosen] / level - 1), 90)),
        (float(low), float(high)), (middle(latency[least]), middle(latency[most])),
        middle(disk.values("busy_percent")[chosen]), knee, chosen, quiet, sure,
    )  # fmt: skip


def _iops(disk: Device, chosen: Flags) -> float:
    return middle(disk.values("iops")[chosen])


def _ceiling(disk: Device, metric: str) -> tuple[str, float, Flags] | None:
    """The rate of the most loaded moments, and all moments near it; None if it is no ceiling of the log."""
    rates, load = disk.values(metric), disk.load
    known = worked(disk) & np.isfinite(rates) & np.isfinite(load) & np.isfinite(disk.values("latency_s"))
    loaded = known & busy(disk)
    if loaded.sum() < FEWEST:
        return None
    most = loaded & (load >= 0.5 * np.percentile(load[loaded], 95))
    level = float(np.median(rates[most]))
    # Few requests in an interval scatter by chance.
    counted = float(np.median((disk.values("iops") * disk.seconds)[most]))
    within = max(TIGHT, min(_WIDEST, 2 / np.sqrt(max(counted, 1.0))))
    chosen = known & (np.abs(rates / level - 1) <= within)
    above = known & (rates > (1 + 1.05 * within) * level)
    if chosen.sum() < FEWEST or chosen[most].mean() < _HELD or above.sum() > _ABOVE * known.sum():
        return None
    return metric, level, chosen & (load >= IDLE_LOAD)


def _spread(disk: Device, found: tuple[str, float, Flags]) -> float:
    metric, level, chosen = found
    return float(np.std(disk.values(metric)[chosen]) / level)


def _quiet(disk: Device, metric: str, level: float, chosen: Flags, slow_s: float) -> Flags:
    """Moments clearly below the ceiling at a lower latency; none unless there are some."""
    rates, latency = disk.values(metric), disk.values("latency_s")
    quiet = worked(disk) & (rates <= 0.9 * level) & ~chosen & (latency * _WAITS <= slow_s)
    return quiet if quiet.sum() >= max(3.0, 0.05 * worked(disk).sum()) else quiet & False


def _few(disk: Device, metric: str, level: float, chosen: Flags) -> Flags:
    """Moments of the same rate at the usual latency; none unless there are some."""
    latency = disk.values("latency_s")
    usual = latency <= _SERVED * middle(latency[worked(disk)], 20)
    fast = worked(disk) & (np.abs(disk.values(metric) / level - 1) <= 2 * TIGHT) & usual
    return fast if fast.sum() >= max(5.0, _FEWEST_SERVED * (chosen & ~fast).sum()) else fast & False


def _sure(
    disk: Device, metric: str, chosen: Flags, few: Flags, quiet: Flags, tier: Tier, *, rotates: bool
) -> float | None:
    load, latency, used = disk.load, disk.values("latency_s"), disk.values("busy_percent")
    full = middle(used[chosen])
    # A device that was idle now and then had time for more.
    if full < _BUSY_PERCENT:
        return None
    low, high = np.percentile(load[chosen], [5, 95])
    grown = high >= _GROWN * low
    if quiet.any() and not few.any():
        return 0.6 if grown else 0.55
    if grown or (few.any() and _is_apart(load, few, chosen)):
        few = few if few.any() else chosen & (load <= 1.1 * low)
        # Busy and slow with few outstanding, too: no other user is needed to explain the rest.
        if not (middle(latency[few]) > tier.target_s and middle(load[few]) >= 2) or middle(used[few]) < _BUSY_PERCENT:
            return None
        return 0.55 if full >= _BUSY_PERCENT and _is_even(disk, metric, chosen) else 0.45
    one_by_one = _iops(disk, chosen) <= _ROTATING_IOPS and low >= _DEEP and full >= _FULL_PERCENT
    return 0.55 if rotates and one_by_one and _is_even(disk, metric, chosen) else None


def _is_apart(load: Floats, few: Flags, chosen: Flags) -> bool:
    return middle(load[chosen & ~few]) >= _GROWN * middle(load[few])


def _is_even(disk: Device, metric: str, chosen: Flags) -> bool:
    """Whether the rate scatters less than requests that arrive by themselves would: the device sets their pace."""
    counted = middle((disk.values("iops") * disk.seconds)[chosen])
    rates = disk.values(metric)[chosen]
    return bool(np.std(rates) / np.mean(rates) <= _EVEN / np.sqrt(max(counted, 1.0)))
