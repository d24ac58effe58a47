"""Moments of a device without a sample: lines that were cut, cells that are blank. What is missing may be what is slow:
wide numbers make long lines, and a disk that does not answer has no counters.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.documents import CUT

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_BY_SERIES = {"azure", "cloudwatch", "gcp", "prometheus", "vsan"}
"""Formats whose documents have the whole time of one series before the next. A recording that ends early lacks time."""
_PART, _FEWEST = 0.03, 3
"""Share and number of a device's moments from which those that are missing may hide a slow time."""


def may_hide(device: Device) -> Flags | None:
    """The moments of which the log has the time and no value, where they are enough to hide a slow time; else None."""
    known = np.zeros(len(device.times_ns), dtype=bool)
    for values in device.measured.values():
        known |= np.isfinite(values)
    return ~known if (~known).sum() >= max(_FEWEST, _PART * len(known)) else None


def cut_off(system: System) -> list[tuple[str, str | None]]:
    """Logs that were cut and that have one series after the other, and where they end: whole devices may be missing."""
    return [
        (Path(notes.path).name, skipped.example)
        for notes in system.notes if notes.format in _BY_SERIES
        for skipped in notes.skipped if skipped.why == CUT
    ]  # fmt: skip


def unread(system: System) -> list[tuple[str, str]]:
    """Devices of which nothing could be read, and how many lines each has."""
    return [(each.subject or "", each.value) for each in system.facts if each.name == "unread_device"]
