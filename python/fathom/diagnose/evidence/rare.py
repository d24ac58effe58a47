"""Disks that are hardly used beside others that do the work: a swap disk, a disk for an archive.

Slow in the moments in which it is used, such a disk says little of the system. It does where somebody waits for it:
where it is slow for long at a time, or by the clock, as a storm of every hour, or where logs of users show it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import LEAST_SESSIONS, fewer_batches, longer_responses, waiting
from fathom.diagnose.evidence.load import middle, worked
from fathom.diagnose.evidence.period import comes_back
from fathom.diagnose.evidence.slow_time import longest_s, recorded_s
from fathom.diagnose.evidence.tier import tier_of

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System

_USED, _SLOW, _LONG_S = 0.2, 0.15, 30.0
"""Parts of the recorded time up to which a disk is hardly used, and hardly ever slow; how long a slow time is at most
that nobody remembers."""
_MUCH = 0.1
"""Part of the busiest disk's rate from which a disk does some of the work."""


def is_rare(system: System, disk: Device) -> bool:
    """Whether a disk is used and slow in so small a part of the time that it decides nothing about the system."""
    used, slow = worked(disk), worked(disk) & (disk.values("latency_s") > tier_of(system, disk).target_s)
    whole = recorded_s(disk)
    if not used.any() or disk.seconds[used].sum() > _USED * whole or disk.seconds[slow].sum() > _SLOW * whole:
        return False
    # Where no other disk does the work, this one is what users wait for, however seldom.
    others = [float(np.nan_to_num(each.mean("iops"))) for each in system.nearest if each is not disk]
    if not disk.mean("iops") <= _MUCH * max(others, default=0.0):
        return False
    if longest_s(disk, slow) >= _LONG_S or comes_back(disk) is not None:
        return False
    felt = fewer_batches(system, disk, slow) or longer_responses(system, disk, slow)
    return felt is None and not middle(waiting(system, disk)[slow]) >= LEAST_SESSIONS
