"""What latency correlates with: whether rate, throughput or load explains the slow moments of a device.

A quantity cannot be the cause if the same device carried as much of it at a fraction of the latency.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.join import ranks
from fathom.diagnose.evidence.load import FEWEST, worked
from fathom.report.format import quantity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Floats

_APART = 3.0
"""How many times as long the slow moments must take as the fast ones, so that there is something to explain."""
_STRONG = 0.6
"""Rank correlation from which latency is said to rise or fall with a quantity."""


@dataclass(frozen=True)
class Quantity:
    """Something latency may follow.

    Attributes:
        name, unit: for people.
        values: per moment of the device.
        correlation: Spearman's rank correlation with latency; NaN where there is too little.
        ruled_out: the sentence that rules it out as the cause; None if nothing does.
    """

    name: str
    unit: str
    values: Floats
    correlation: float
    ruled_out: str | None

    @property
    def said(self) -> str:
        """What the picture shows, in a few words."""
        if self.ruled_out:
            return "ruled out: as much was carried fast"
        if not np.isfinite(self.correlation):
            return "too few moments"
        if self.correlation >= _STRONG:
            return f"rises with it (rank r {self.correlation:.2f})"
        if self.correlation <= -_STRONG:
            return f"falls with it (rank r {self.correlation:.2f})"
        return f"does not follow it (rank r {self.correlation:.2f})"


def quantities(device: Device) -> list[Quantity]:
    """IOPS, MB/s and outstanding requests, as far as the log has them."""
    known = (
        ("IOPS", "IOPS", device.values("iops")),
        ("throughput", "MB/s", device.values("bytes_per_s") / 1e6),
        ("outstanding I/O", "requests", device.load),
    )
    latency = device.values("latency_s")
    found = []
    for name, unit, values in known:
        good = np.isfinite(values) & np.isfinite(latency) & worked(device)
        if good.any():
            related = _correlation(values[good], latency[good])
            found.append(Quantity(name, unit, values, related, _ruled_out(name, unit, values[good], latency[good])))
    return found


def _correlation(values: Floats, latency: Floats) -> float:
    if len(values) < FEWEST or np.ptp(values) == 0 or np.ptp(latency) == 0:
        return float("nan")
    return float(np.corrcoef(ranks(values), ranks(latency))[0, 1])


def _ruled_out(name: str, unit: str, values: Floats, latency: Floats) -> str | None:
    """The slow quarter of the moments against those that take a third of that time at most."""
    if len(values) < 2 * FEWEST:
        return None
    slow = latency >= np.percentile(latency, 75)
    limit = float(np.median(latency[slow]))
    fast = latency * _APART <= limit
    if fast.sum() < FEWEST:
        return None
    # The median, not the most: single moments may be luck.
    often, before = float(np.percentile(values[fast], 75)), float(np.median(values[slow]))
    if often < before or before <= 0:
        return None
    quick = float(np.median(latency[fast & (values >= before)]))
    return (
        f"{name[:1].upper()}{name[1:]} cannot be the cause: {quantity(often, unit)} went at "
        f"{quantity(quick * 1e3, 'ms')}, no less than the {quantity(before, unit)} of the slow moments "
        f"({quantity(limit * 1e3, 'ms')})."
    )
