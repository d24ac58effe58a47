"""Moments of a device without a sample: lines that were cut, cells that are blank. What is missing may be what is slow:
wide numbers make long lines, and a disk that does not answer has no counters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.load import worked

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags

_PART, _FEWEST = 0.03, 3
"""Share and number of a device's moments from which those that are missing may hide a slow time."""
_REQUESTS = 10.0
"""Requests of an interval whose latency must have been there."""


def missing(device: Device) -> Flags:
    """The moments of which nothing is known, or no latency although requests completed and the log has it otherwise."""
    known = np.zeros(len(device.times_ns), dtype=bool)
    for values in device.measured.values():
        known |= np.isfinite(values)
    if device.has("latency_s"):
        often = worked(device) & (device.values("iops") * device.seconds >= _REQUESTS)
        known &= ~(often & np.isnan(device.values("latency_s")))
    return ~known


def may_hide(device: Device) -> Flags | None:
    """The missing moments where they are enough to hide a slow time; None where they are not."""
    found = missing(device)
    return found if found.sum() >= max(_FEWEST, _PART * len(found)) else None
