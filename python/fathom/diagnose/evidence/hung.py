"""Moments in which a disk held its requests, within intervals that are longer: one of a minute shows a pause of ten
seconds as a mean latency far above the usual one, at no more requests than usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.load import FEWEST, implied_load, in_a_row, middle, worked
from fathom.diagnose.evidence.starved import starved
from fathom.diagnose.evidence.tier import tier_of

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_TIMES, _CLEARLY, _LEAST = 20.0, 1.5, 4.0
"""Times the usual latency, times what the disk's kind should keep, and requests outstanding, from which it did."""
_MORE = 1.3
"""Times as many requests, or bytes, as usual: from there on a latency may be that of the load."""
_ENDS = 0.5
"""Part of the latency of such moments down to which others belong to the same slow time."""
_LONGEST, _FEWEST = 4, 3
"""Moments in a row that are a time of its own, and how often it must have happened."""


def hung(system: System, disk: Device) -> Flags:
    """Such moments; none where they are too few, or where it was the machine that did not run."""
    latency, rate, at_work = disk.values("latency_s"), disk.values("iops"), worked(disk)
    none = at_work & False
    if at_work.sum() < FEWEST:
        return none
    usual, often = middle(latency[at_work]), middle(rate[at_work])
    moved = disk.values("bytes_per_s")
    held = at_work & (latency >= max(_TIMES * usual, _CLEARLY * tier_of(system, disk).target_s))
    held &= np.nan_to_num(implied_load(disk)) >= _LEAST
    # A burst of the load may end in the moment after.
    burst = (rate > _MORE * often) | (moved > _MORE * middle(moved[at_work]))
    burst |= np.concatenate([[False], burst[:-1]])
    held &= ~burst
    slow = at_work & ~burst & (latency >= _ENDS * middle(latency[held]))
    longest = max((len(group) for group in in_a_row(slow) if held[group].any()), default=0)
    if len(in_a_row(held)) < _FEWEST or longest > _LONGEST or starved(system, disk, held) is not None:
        return none
    return held
