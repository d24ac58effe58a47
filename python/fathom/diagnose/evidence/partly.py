"""A limit that is reached in a part of each interval: means stay a little below it, and never go above.

As more is asked, more of each interval is at the limit, so that the rate of the log comes ever nearer to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.ebs import type_of
from fathom.diagnose.evidence.load import middle
from fathom.diagnose.evidence.saturation import at_ceiling
from fathom.diagnose.evidence.sold import DOUBTFUL, KNOWN, sold_there
from fathom.diagnose.evidence.throttle import Throttle, denied
from fathom.diagnose.evidence.words import megabytes, number, seen, time

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
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
    metric: str
    rate: float
    sure: float
    cloud: str | None


def reached_in_part(system: System, disk: Device) -> Throttle | None:
    """The limit; None where the disk's highest rate is near none."""
    found = at_ceiling(system, disk)
    if found is None:
        return None
    # Requests of one size: either rate may be the one that is limited.
    near = (each for metric in ("iops", "bytes_per_s") for each in _near(system, disk, metric, found.chosen))
    best = max(near, key=lambda each: each.sure, default=None)
    if best is None:
        return None
    low, high = found.load
    level, top, limit = (
        _rate(best.metric, each)
        for each in (middle(disk.values(best.metric)[found.chosen]), _top(disk, best.metric), best.rate)
    )
    words = (
        f"{level} with {number(low)} to {number(high)} outstanding, at up to {time(found.latency_s[1])}, and never "
        f"more than {top}: a mean is below a limit that a part of its interval is at; {best.name} is {limit}."
    )
    what = f"with more outstanding it comes ever nearer to {limit}, {best.name}"
    return Throttle(what, best.sure, (seen(disk, words, found.chosen),), True, best.cloud)


def _near(system: System, disk: Device, metric: str, chosen: Flags) -> Iterator[_Limit]:
    """The limits just above a rate, where the highest of the log is at them."""
    if denied(system, disk, metric, chosen):
        return
    level, top = middle(disk.values(metric)[chosen]), _top(disk, metric)
    for each in _limits(system, disk, metric, chosen):
        if -_BELOW <= level / each.rate - 1 <= _ABOVE and abs(top / each.rate - 1) <= _TOP:
            yield each


def _top(disk: Device, metric: str) -> float:
    return middle(disk.values(metric), 100)


def _limits(system: System, disk: Device, metric: str, chosen: Flags) -> Iterator[_Limit]:
    """What was bought, by a description of the volume, and limits of the tables that such a volume may have."""
    described = {each.subject for each in system.facts if each.name == "volume_type"}
    for fact in system.facts:
        own = fact.subject == disk.device or disk.device not in described
        if fact.name == f"provisioned_{metric}" and own and fact.value.isdigit() and int(fact.value):
            yield _Limit(
                f"what was bought for {fact.subject or 'the volume'}", metric, float(fact.value), _BOUGHT, None
            )
    credited, of_type = disk.has("burst_balance_percent"), type_of(system, disk)
    rates = {each: middle(disk.values(each)[chosen]) for each in ("iops", "bytes_per_s")}
    for cap in system.limits.near(metric, rates[metric], "volume", _BELOW, credited=credited, of_type=of_type):
        there = sold_there(system, disk, cap.cloud)
        if there > DOUBTFUL and system.limits.holds(cap, **rates):
            sure = _SOLD if there >= KNOWN else DOUBTFUL
            yield _Limit(f"a known limit ({cap.name})", metric, float(getattr(cap, metric)), sure, cap.cloud)


def _rate(metric: str, level: float) -> str:
    return f"{number(level)} IOPS" if metric == "iops" else megabytes(level)
