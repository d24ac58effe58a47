"""A guest's adapter queue that is full, as the hypervisor shows it: what it lets through to the virtual disk is level
at a depth that adapters have, while more wait in the guest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import FEWEST, middle
from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags, Floats
    from fathom.diagnose.evidence.limits import Queue
    from fathom.diagnose.evidence.system import System

_FEWEST, _SAME_RATE = 3, 0.2
"""Moments that are needed, and how near the rate of a virtual disk is to that of the guest's disk."""
_NEAR, _LEVEL = 0.08, 0.1
"""How near to a depth the requests below are, and how much they scatter, as parts of it."""
_MORE = 1.5
"""How many times the depth are outstanding in the guest: those that wait for a place."""
_MANY, _PART = 2.0, 0.25
"""How many times what is at the virtual disk is outstanding in the guest where the queue is full for a part of the slow
time only, and how large that part is."""
_ABOVE, _VARIES = 1.2, 1.3
"""How far above the depth the virtual disk's requests are at most then, and how much those of the guest grow while the
virtual disk's do not."""


@dataclass(frozen=True)
class Slots:
    """What an adapter lets through.

    Attributes:
        below: the virtual disk.
        queue: the known queue of that depth.
        level: requests at the virtual disk, by Little's law.
        waiting: requests outstanding in the guest.
        chosen: the moments in which the queue is full.
    """

    below: Device
    queue: Queue
    level: float
    waiting: float
    chosen: Flags


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
    """The full queue between a guest's disk and its virtual disk in these moments; None where none is.

    Where the load is moderate the queue is full in some of them only: those in which many more wait in the guest.
    """
    below = virtual_disk_of(system, disk, slow) if slow.any() else None
    if below is None:
        return None
    through = onto(disk, below, "iops") * onto(disk, below, "latency_s")
    always = _full(system, disk, below, through, slow)
    if always is not None:
        return always
    held = slow & (disk.load >= _MANY * through)
    if held.sum() < max(FEWEST, _PART * slow.sum()):
        return None
    found = _full(system, disk, below, through, held)
    # A wait above the virtual disk keeps no count level: that follows the rate, and is higher at other times.
    capped = found is not None and middle(through, 95) <= _ABOVE * found.level
    varies = middle(disk.load[held], 90) >= _VARIES * middle(disk.load[held], 10)
    return found if capped and varies else None


def _full(system: System, disk: Device, below: Device, through: Floats, chosen: Flags) -> Slots | None:
    """The depth at which a virtual disk's requests are level in these moments while more wait in the guest."""
    level, waiting = middle(through[chosen]), middle(disk.load[chosen])
    queue = system.limits.queue(level, max(1.0, _NEAR * level), "device", "adapter")
    scatter = (middle(through[chosen], 90) - middle(through[chosen], 10)) / level
    if queue is None or not (scatter <= 2 * _LEVEL and waiting >= _MORE * level):
        return None
    return Slots(below, queue, level, waiting, chosen)
