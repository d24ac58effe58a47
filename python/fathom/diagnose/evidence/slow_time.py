"""When a disk was slow: stretches of the log in which requests wait longer than its kind should keep.

A slow disk completes few requests, so a share of requests hides hours of it: time counts here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.load import IDLE_LOAD, LARGE_BYTES, worked
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import length

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_LONGEST_GAP, _SHORTEST = 2, 5
"""Moments that a stretch may lack, and that it has at least."""
_CLEARLY = 1.5
"""Times what its kind should keep from which a disk is slow beyond doubt."""
MOSTLY = 0.8
"""Part of the time from which it is all the time."""
_PART, _LONG_S = 0.05, 300.0
"""Part of the time that the disk worked, and length of a single stretch, from which users remember it."""


def stretches(slow: Flags) -> Flags:
    """Only moments within stretches of some length, short gaps bridged."""
    places, of_stretch = _grouped(slow)
    chosen = np.zeros(len(slow), dtype=bool)
    chosen[places[np.bincount(of_stretch)[of_stretch] >= _SHORTEST]] = True
    return chosen


def slow_time(system: System, disk: Device, times: float = 1.0) -> Flags:
    """Stretches in which requests wait and take longer than so many times what the disk's kind should keep."""
    long = disk.values("latency_s") > times * tier_of(system, disk).target_s
    waits = worked(disk) & (np.nan_to_num(disk.load) >= IDLE_LOAD)
    # The latency of large requests is the time of their transfer.
    return stretches(long & waits & ~(disk.values("size_bytes") >= LARGE_BYTES))


def lasting(system: System, disk: Device) -> Flags | None:
    """The slow time where it is beyond doubt and long enough to matter; None without."""
    slow = slow_time(system, disk, _CLEARLY)
    if not slow.any():
        return None
    much = disk.seconds[slow].sum() >= _PART * disk.seconds[worked(disk)].sum()
    matters = much or longest_s(disk, slow) >= _LONG_S
    return slow if matters else None


def around(slow: Flags) -> Flags:
    """The moments just before and after each stretch, as many as it has."""
    places, of_stretch = _grouped(slow)
    near = np.zeros(len(slow), dtype=bool)
    for number in np.unique(of_stretch):
        first, last = places[of_stretch == number][[0, -1]]
        many = last - first + 1
        near[max(0, first - many) : last + 1 + many] = True
    return near & ~slow


def longest(chosen: Flags) -> Flags:
    """The longest stretch of some moments: from the first to the last of all there may be much of another kind."""
    found = np.zeros(len(chosen), dtype=bool)
    places, of_stretch = _grouped(chosen)
    if len(places):
        found[places[of_stretch == np.bincount(of_stretch).argmax()]] = True
    return found


def longest_s(disk: Device, chosen: Flags) -> float:
    """How long the longest stretch of some moments is."""
    places, of_stretch = _grouped(chosen)
    return float(np.bincount(of_stretch, disk.seconds[places]).max()) if len(places) else 0.0


def recorded_s(disk: Device) -> float:
    """How long the log tells what a disk did, idle times included."""
    return float(disk.seconds[np.isfinite(disk.values("iops"))].sum())


def of_the_time(disk: Device, chosen: Flags) -> str:
    """How long some moments are, of the time that was recorded: `36 min of 6.0 h`."""
    return f"{length(disk.seconds[chosen].sum())} of {length(recorded_s(disk))}"


def in_part(disk: Device, chosen: Flags, before: str = " ") -> str:
    """The end of a clause, after `before`: in which part of the time some moments are; nothing where that is nearly all
    of it. Of a disk that is idle otherwise it says so, as that part is all of its use.
    """
    time_s, used_s = disk.seconds[chosen].sum(), disk.seconds[worked(disk)].sum()
    if time_s > MOSTLY * recorded_s(disk):
        return ""
    return f"{before}{'when it is used, ' if time_s > MOSTLY * used_s else ''}in {of_the_time(disk, chosen)}"


def _grouped(slow: Flags) -> tuple[np.ndarray, np.ndarray]:
    """Where a disk is slow, and in which stretch each of these moments is."""
    places = np.flatnonzero(slow)
    return places, np.cumsum(np.diff(places, prepend=places[:1]) > _LONGEST_GAP)
