"""What a device did in some moments, in the three figures that go together: latency, requests outstanding and rate.

A median of each by itself, or over moments of two kinds, is a figure of no moment: 39 ms of an hour at 199 ms and one
at 1.5 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fathom.diagnose.evidence.device import average
from fathom.diagnose.evidence.join import onto

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags


class Figures(NamedTuple):
    """Means of the same moments: the latency of a request, so that rate × latency is what is outstanding."""

    latency_s: float
    load: float
    iops: float


def figures(device: Device, chosen: Flags) -> Figures:
    """The figures of the moments that a sentence speaks of; NaN for what the log lacks."""
    load = average(device.load, device.seconds, chosen)
    return Figures(device.mean("latency_s", chosen), load, device.mean("iops", chosen))


def latency_below(upper: Device, lower: Device, chosen: Flags) -> float:
    """The latency of a request of another device, in the same moments."""
    return average(onto(upper, lower, "latency_s"), onto(upper, lower, "iops") * upper.seconds, chosen)
