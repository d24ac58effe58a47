"""Time that requests lose above a device: what takes them first needs several times as long as what serves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fathom.diagnose.evidence.figures import figures, latency_below
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import FEWEST, middle, worked
from fathom.diagnose.evidence.slow_time import in_part, stretches
from fathom.diagnose.evidence.tier import tier_of

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_TIMES, _CARRIES = 4.0, 0.5
"""How many times as long as its disk it takes, and the part of its rate that reaches the disk at least."""
_MUCH, _STRAINED = 2.0, 3.0
"""Times `_TIMES` as long for each request, from which on the disk may take so many times what it should keep."""
_PART, _HALF = 0.05, 0.5
"""Part of the time from which it matters, and part of all waiting from which single moments do."""


class Lost(NamedTuple):
    """Time per second that is lost between two devices, both with their latencies, and when that was."""

    lost: float
    upper: Device
    lower: Device
    above_s: float
    below_s: float
    chosen: Flags

    @property
    def when(self) -> str:
        """The end of a clause: how long it was, where that is not all the time."""
        return in_part(self.upper, self.chosen, ", ")


def lost_above(system: System, upper: Device, lower: Device, *, single: bool = False) -> Lost | None:
    """What a device loses above the one that it lies on: all the time, else in the stretches in which it is slow, else,
    with `single`, in single slow moments, as of writes that come together, where most of all its waiting is lost.
    """
    latency, below, rates = upper.values("latency_s"), onto(upper, lower, "latency_s"), onto(upper, lower, "iops")
    target_s = tier_of(system, upper).target_s
    both = worked(upper) & np.isfinite(latency) & np.isfinite(below)
    long = both & (latency > target_s)
    slow = stretches(long & (latency >= _TIMES * below))
    spent = np.nan_to_num(latency * upper.values("iops")) * upper.seconds
    most = single and spent[long].sum() - (spent * below / latency)[long].sum() >= _HALF * spent[both].sum()
    for chosen in (both, slow, long) if most else (both, slow):
        if chosen.sum() < FEWEST or upper.seconds[chosen].sum() < _PART * upper.seconds[both].sum():
            continue
        above_s, below_s, asked = (middle(each[chosen]) for each in (latency, below, upper.values("iops")))
        is_slow = above_s > target_s and above_s >= _TIMES * below_s
        if is_slow and middle(rates[chosen]) >= _CARRIES * asked:
            told = _told(upper, lower, chosen & long)
            # A burst strains the disk as well, which explains no several times as long of all requests in it.
            much = told.above_s >= _MUCH * _TIMES * told.below_s
            if below_s <= tier_of(system, lower).target_s * (_STRAINED if much else 1):
                return told
    return None


def _told(upper: Device, lower: Device, slow: Flags) -> Lost:
    """The figures of the slow moments: those between are not what is spoken of."""
    did, below_s = figures(upper, slow), latency_below(upper, lower, slow)
    return Lost((did.latency_s - below_s) * did.iops, upper, lower, did.latency_s, below_s, slow)
