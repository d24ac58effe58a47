"""A limit that is reached in a part of each interval: means stay a little below it, and never go above.

As more is asked, more of each interval is at the limit, so that the rate of the log comes ever nearer to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.ebs import type_of
from fathom.diagnose.evidence.load import middle
from fathom.diagnose.evidence.saturation import at_ceiling
from fathom.diagnose.evidence.sold import DOUBTFUL, KNOWN, sold_there
from fathom.diagnose.evidence.throttle import Throttle, denied
from fathom.diagnose.evidence.words import megabytes, number, seen, time

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.saturation import Saturated
    from fathom.diagnose.evidence.system import System

_BELOW, _ABOVE = 0.05, 0.01
"""How far below the limit the mean rate may be while requests queue, and how far above it the highest of the log."""
_TOP = 0.01
"""How near to the limit the highest rate of the log is."""
_BOUGHT, _SOLD = 0.7, 0.55
"""How sure a limit is that a description of the volume names, and one of a table in the cloud that sells it."""


@dataclass(frozen=True)
class _Limit:
    """A limit that may be the disk's, and how sure that is."""

    name: str
    rate: float
    sure: float
    cloud: str | None


def reached_in_part(system: System, disk: Device) -> Throttle | None:
    """The limit; None where the disk's highest rate is near none."""
    found = at_ceiling(system, disk)
    if found is None or denied(system, disk, found.metric, found.chosen):
        return None
    top = float(np.nanmax(disk.values(found.metric)))
    near = (each for each in _limits(system, disk, found) if _is_near(found.level, top, each.rate))
    best = max(near, key=lambda each: each.sure, default=None)
    if best is None:
        return None
    rate = _rate(found.metric, found.level)
    low, high = found.load
    words = (
        f"{rate} with {number(low)} to {number(high)} outstanding, at up to {time(found.latency_s[1])}, and never more "
        f"than {_rate(found.metric, top)}: a mean is below a limit that a part of its interval is at; {best.name} is "
        f"{_rate(found.metric, best.rate)}."
    )
    what = f"with more outstanding it comes ever nearer to {_rate(found.metric, best.rate)}, {best.name}"
    return Throttle(what, best.sure, (seen(disk, words, found.chosen),), True, best.cloud)


def _limits(system: System, disk: Device, found: Saturated) -> Iterator[_Limit]:
    """What was bought, by a description of the volume, and limits of the tables that such a volume may have."""
    described = {each.subject for each in system.facts if each.name == "volume_type"}
    for fact in system.facts:
        own = fact.subject == disk.device or disk.device not in described
        if fact.name == f"provisioned_{found.metric}" and own and fact.value.isdigit():
            yield _Limit(f"what was bought for {fact.subject or 'the volume'}", float(fact.value), _BOUGHT, None)
    credited, of_type = disk.has("burst_balance_percent"), type_of(system, disk)
    rates = [middle(disk.values(metric)[found.chosen]) for metric in ("iops", "bytes_per_s")]
    for cap in system.limits.near(found.metric, found.level, "volume", _BELOW, credited=credited, of_type=of_type):
        there = sold_there(system, disk, cap.cloud)
        if there > DOUBTFUL and system.limits.holds(cap, *rates):
            sure = _SOLD if there >= KNOWN else DOUBTFUL
            yield _Limit(f"a known limit ({cap.name})", float(getattr(cap, found.metric)), sure, cap.cloud)


def _is_near(level: float, top: float, limit: float) -> bool:
    return -_BELOW <= level / limit - 1 <= _ABOVE and abs(top / limit - 1) <= _TOP


def _rate(metric: str, level: float) -> str:
    return f"{number(level)} IOPS" if metric == "iops" else megabytes(level)
