"""Discards (TRIM, UNMAP) that slow everything else on a disk: many drives erase before they answer other requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.load import FEWEST, middle, worked
from fathom.diagnose.evidence.unexplained import unexplained

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags

_TIMES = 4.0
"""How many times as long as at other moments requests take beside discards."""
_FALLS = 0.5
"""Part of the usual rate that is left: a load that asks for more beside them may be slow by itself."""
_FEWEST_BESIDE = 3
_RISE, _TOGETHER = 0.5, 0.8
"""Part of their rate in the slow time from which discards have risen, and part of the moments that the two share."""
_SURE, _COINCIDES = 0.8, 0.65
"""How sure it is where the rate falls, and where the slow time, which no load explains, is that of discards."""


@dataclass(frozen=True)
class Slowed:
    """A disk whose reads and writes wait for discards.

    Attributes:
        beside: the moments with discards, other requests among them.
        without: the others with requests.
        latency_s: of reads and writes, without discards and beside them.
        rate: the same of reads and writes per second.
        discards: per second, beside reads and writes.
        bytes_per_s: of them; NaN where not recorded.
        sure: that it is they, 0 to 1.
    """

    beside: Flags
    without: Flags
    latency_s: tuple[float, float]
    rate: tuple[float, float]
    discards: float
    bytes_per_s: float
    sure: float = _SURE


def slowed_by_discards(disk: Device) -> Slowed | None:
    """What discards cost a disk's other requests; None where they cost little, or the log does not say."""
    if not disk.has("iops", "latency_s", "discard_iops"):
        return None
    return _halved(disk) or _coinciding(disk)


def _halved(disk: Device) -> Slowed | None:
    """A rate that falls to half beside discards, and a latency of several times as long."""
    discards, latency, rate = (disk.values(name) for name in ("discard_iops", "latency_s", "iops"))
    timed = worked(disk) & np.isfinite(latency)
    beside, without = timed & (discards > 0), timed & ~(discards > 0)
    if beside.sum() < _FEWEST_BESIDE or without.sum() < FEWEST:
        return None
    times = middle(latency[without]), middle(latency[beside])
    rates = middle(rate[without]), middle(rate[beside])
    if times[1] < _TIMES * times[0] or rates[1] > _FALLS * rates[0]:
        return None
    moved = middle(disk.values("discard_bytes_per_s")[beside])
    return Slowed(beside, without, times, rates, middle(discards[beside]), moved)


def _coinciding(disk: Device) -> Slowed | None:
    """A slow time that the load does not explain, and that begins and ends with discards: no other user is needed."""
    found = unexplained(disk)
    if found is None:
        return None
    discards = np.nan_to_num(disk.values("discard_iops"))
    often = middle(discards[found.chosen])
    risen = worked(disk) & (discards > 0) & (discards >= _RISE * often)
    both = risen & found.chosen
    if both.sum() < _TOGETHER * max(found.chosen.sum(), risen.sum()) or found.slow_s < _TIMES * found.usual_s:
        return None
    moved = middle(disk.values("discard_bytes_per_s")[both])
    times, rates = (found.usual_s, found.slow_s), (found.usual_iops, found.slow_iops)
    return Slowed(both, found.alike, times, rates, often, moved, _COINCIDES)
