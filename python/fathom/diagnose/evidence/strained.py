"""Disks that keep requests waiting whatever the processors do: what else is busy proves nothing about them.

On a machine whose processors are full a request also counts until its machine sees that it is done, so a somewhat long
latency with hardly anything outstanding shows nothing. Requests that queue do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.elsewhere import Elsewhere, processors, runnable
from fathom.diagnose.evidence.load import middle, worked
from fathom.diagnose.evidence.rare import is_rare
from fathom.diagnose.evidence.slow_time import lasting, slow_time
from fathom.diagnose.evidence.starved import starved
from fathom.diagnose.evidence.tier import tier_of

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_SEVERAL, _PART, _FEWEST = 3.0, 0.05, 3
"""Requests outstanding that wait for each other, and the part of the time and the moments from which that matters."""
_BUSY_PERCENT, _MOSTLY, _MORE_OFTEN = 90.0, 0.5, 0.6
"""Use of a disk that leaves it no time for more, the part of the time from which it is so as a rule, and requests
outstanding from which it has one more often than not."""
_SHORT = 0.3
"""Part of what a disk should keep up to which a latency is short, also where more load only waits."""


@dataclass(frozen=True)
class Both:
    """Busy processors beside disks that keep requests waiting, each with its moments."""

    processors: Elsewhere
    disks: tuple[tuple[Device, Flags], ...]


def beside_processors(system: System) -> Both | None:
    """Disks that busy processors cannot clear; None where either is missing."""
    full = processors(system)
    if full is None:
        return None
    found = tuple((disk, slow) for disk in system.nearest if (slow := strained(system, disk)) is not None)
    return Both(full, found) if found else None


def strained(system: System, disk: Device) -> Flags | None:
    """When a disk keeps requests waiting; None where it does not, or where its machine did not run then."""
    if is_rare(system, disk):
        return None
    slow = slow_time(system, disk)
    if slow.any() and starved(system, disk, slow) is not None:
        return None
    if (found := lasting(system, disk)) is not None:
        return found
    if (found := _queued(system, disk)) is not None:
        return found
    if (found := _full(system, disk)) is not None:
        return found
    return worked(disk) if any(disk is each for each in saturated(system)) else None


def saturated(system: System) -> list[Device]:
    """Volumes of which more load only waits all the time, beyond a latency that nobody notices."""
    return [
        disk for disk, regime in system.regimes
        if regime.is_saturated and disk.mean("latency_s") > _SHORT * tier_of(system, disk).target_s
    ]  # fmt: skip


def known_of(system: System) -> str | None:
    """What is known where no cause is: a disk that can do no more, or busy processors without a word on disks."""
    for disk in saturated(system):
        return f"{disk.name} is saturated: more load only waits."
    if not system.nearest and processors(system) is not None:
        return "The processors are busy, but no log tells what the disks did: they may be slow as well."
    if not system.nearest and (ready := runnable(system)) is not None:
        return ready.evidence.sentence
    return None


def _queued(system: System, disk: Device) -> Flags | None:
    """Several requests that wait longer than they should, large ones included."""
    found = _long(system, disk) & (np.nan_to_num(disk.load) >= _SEVERAL)
    enough = disk.seconds[found].sum() >= _PART * disk.seconds[worked(disk)].sum()
    return found if enough and found.sum() >= _FEWEST else None


def _full(system: System, disk: Device) -> Flags | None:
    """A disk that is in use all the time, and of whose requests a good part takes longer than it should."""
    found = worked(disk) & (disk.values("busy_percent") >= _BUSY_PERCENT)
    mostly = disk.seconds[found].sum() >= _MOSTLY * disk.seconds[worked(disk)].sum()
    long = _long(system, disk)
    part = (disk.seconds * np.nan_to_num(disk.values("iops")))[long].sum()
    whole = (disk.seconds * np.nan_to_num(disk.values("iops")))[worked(disk)].sum()
    # Told are the moments in which they take longer, not those between.
    return found & long if mostly and part >= _PART * whole and middle(disk.load[found]) >= _MORE_OFTEN else None


def _long(system: System, disk: Device) -> Flags:
    """When requests take longer than the disk's kind should keep."""
    found: Flags = worked(disk) & (disk.values("latency_s") > tier_of(system, disk).target_s)
    return found
