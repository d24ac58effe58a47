"""Series of different devices side by side: on the moments of one of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.clock import NS
from fathom.diagnose.evidence.surroundings import is_mount

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Floats
    from fathom.diagnose.evidence.system import System


def onto(target: Device, other: Device, metric: str) -> Floats:
    """A metric of another device at the target's moments: its mean over each interval, or the value that covers it.

    Means are weighted as the metric demands. NaN where the other log has nothing.
    """
    ends = target.times_ns
    starts = ends - (target.seconds * NS).astype(np.int64)
    values, weights = other.values(metric), other.weights(metric)
    good = np.isfinite(values) & (weights > 0)
    times, values, weights = other.times_ns[good], values[good], weights[good]
    found = np.full(len(ends), np.nan)
    if not len(times):
        return found
    first, last = np.searchsorted(times, starts, side="right"), np.searchsorted(times, ends, side="right")
    total = np.concatenate([[0.0], np.cumsum(values * weights)])
    count = np.concatenate([[0.0], np.cumsum(weights)])
    inside = last > first
    found[inside] = ((total[last] - total[first]) / (count[last] - count[first]))[inside]
    # A coarser log: the interval that ends next covers the moment.
    slack = int(other.interval_s * NS)
    after = np.minimum(last, len(times) - 1)
    covers = ~inside & (times[after] >= ends) & (times[after] - ends < slack)
    found[covers] = values[after[covers]]
    return found


def correlation(one: Floats, other: Floats) -> float:
    """Spearman's rank correlation of what both have; 0 below 20 moments or where one is constant."""
    good = np.isfinite(one) & np.isfinite(other)
    if good.sum() < 20 or np.ptp(one[good]) == 0 or np.ptp(other[good]) == 0:
        return 0.0
    return float(np.corrcoef(ranks(one[good]), ranks(other[good]))[0, 1])


def above(one: Floats, other: Floats) -> float:
    """How much more often a value of `one` is above one of `other` than below (Mann and Whitney): 1 always, 0 as often,
    -1 never. It does not depend on how many there are of each; 0 with fewer than 3 of either, or 20 together.
    """
    high, low = one[np.isfinite(one)], other[np.isfinite(other)]
    if min(len(high), len(low)) < 3 or len(high) + len(low) < 20:
        return 0.0
    total = float(ranks(np.concatenate([high, low]))[: len(high)].sum())
    return 2 * (total - len(high) * (len(high) + 1) / 2) / (len(high) * len(low)) - 1


def ranks(values: Floats) -> Floats:
    """Ranks from 1, equal values with their mean."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    found: Floats = (np.cumsum(count) - (count - 1) / 2)[place]
    return found


def adapters(system: System) -> Iterator[tuple[str, list[Device]]]:
    """Disks of one adapter where the logs name it, else of one host; two at least, with the same moments."""
    groups: dict[str, list[Device]] = {}
    for disk in (each for each in system.disks if not is_mount(each)):
        name = system.fact("adapter", disk.device) if disk.device else None
        groups.setdefault(name or f"the adapter of {disk.host or 'this host'}", []).append(disk)
    for name, disks in groups.items():
        longest = max((disk.times_ns for disk in disks), key=len)
        same = [disk for disk in disks if len(disk.times_ns) == len(longest) and (disk.times_ns == longest).all()]
        if len(same) > 1:
            yield name, same
