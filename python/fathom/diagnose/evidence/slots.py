"""A guest's adapter queue that is full, as the hypervisor shows it: what it lets through to the virtual disk is level
at a depth that adapters have, while more wait in the guest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import middle
from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.limits import Queue
    from fathom.diagnose.evidence.system import System

_FEWEST, _SAME_RATE = 3, 0.2
"""Moments that are needed, and how near the rate of a virtual disk is to that of the guest's disk."""
_NEAR, _LEVEL = 0.08, 0.1
"""How near to a depth the requests below are, and how much they scatter, as parts of it."""
_MORE = 1.5
"""How many times the depth are outstanding in the guest: those that wait for a place."""


@dataclass(frozen=True)
class Slots:
    """What an adapter lets through.

    Attributes:
        below: the virtual disk.
        queue: the known queue of that depth.
        level: requests at the virtual disk, by Little's law.
        waiting: requests outstanding in the guest.
    """

    below: Device
    queue: Queue
    level: float
    waiting: float


def virtual_disk_of(system: System, disk: Device, chosen: Flags) -> Device | None:
    """The only virtual disk that does as much as a guest's disk in these moments."""
    if disk.layer is Layer.VIRTUAL_DISK:
        return None
    below = [each for each in system.of(Layer.VIRTUAL_DISK) if does_the_same(disk, each, chosen)]
    return below[0] if len(below) == 1 else None


def does_the_same(disk: Device, other: Device, chosen: Flags) -> bool:
    """Whether a virtual disk does as much as a disk in every one of these moments, within what clocks differ."""
    off = np.abs(onto(disk, other, "iops")[chosen] / disk.values("iops")[chosen] - 1)
    return bool(np.isfinite(off).sum() >= _FEWEST and middle(off) <= _SAME_RATE)


def full_slots(system: System, disk: Device, slow: Flags) -> Slots | None:
    """The full queue between a guest's disk and its virtual disk in these moments; None where none is."""
    below = virtual_disk_of(system, disk, slow) if slow.any() else None
    if below is None:
        return None
    through = (onto(disk, below, "iops") * onto(disk, below, "latency_s"))[slow]
    level, waiting = middle(through), middle(disk.load[slow])
    queue = system.limits.queue(level, max(1.0, _NEAR * level), "device", "adapter")
    scatter = (middle(through, 90) - middle(through, 10)) / level
    if queue is None or not (scatter <= 2 * _LEVEL and waiting >= _MORE * level):
        return None
    return Slots(below, queue, level, waiting)
