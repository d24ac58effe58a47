"""The disk of Linux that serves the requests of a device above it: told by its rate, as logs seldom name it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.below import to_record
from fathom.diagnose.evidence.figures import figures, latency_below
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import middle, worked
from fathom.diagnose.evidence.located import Located
from fathom.diagnose.evidence.words import beside, number, time
from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_DISK = re.compile(r"(?:/dev/)?(?:(?:sd|hd|vd|xvd)[a-z]+|nvme\d+n\d+|mmcblk\d+)$")
"""Linux's names of whole disks. What else serves requests there stands on them."""
_MIRROR = re.compile(r"(?:/dev/)?md[_\d]")
_SAME, _MOSTLY = 0.05, 0.95
"""How far apart two rates are that are of the same requests, and in which part of the moments."""
_MERGED = 0.8
"""Part of a mirror's requests that its disks do at least, as they merge what comes together."""
_NEARLY = 0.8
"""Part of a device's latency from which it is that of the disk below."""


def is_disk(device: Device) -> bool:
    """Whether a device of Linux is a whole disk, by its name."""
    return _DISK.match(device.device or "") is not None


def serves(lower: Device, upper: Device, chosen: Flags | None = None) -> bool:
    """Whether a disk does the very requests of a device in these moments, or always: as many in nearly every moment,
    which chance does not make. Each disk of a mirror moves the same bytes in somewhat fewer requests.
    """
    if lower.host != upper.host:
        return False
    when = worked(upper) if chosen is None else worked(upper) & chosen
    if _is_same(lower, upper, "iops", when):
        return True
    if not _MIRROR.match(upper.device or "") or not _is_same(lower, upper, "bytes_per_s", when):
        return False
    return middle((onto(upper, lower, "iops") / upper.values("iops"))[when]) >= _MERGED


def _is_same(lower: Device, upper: Device, metric: str, when: Flags) -> bool:
    own, below = upper.values(metric), onto(upper, lower, metric)
    same = when & np.isfinite(below) & (np.abs(below - own) <= _SAME * own)
    return bool(same.any() and same.sum() >= _MOSTLY * when.sum())


def look_below(system: System, upper: Device, slow: Flags) -> Located | None:
    """The disk below a device that takes nearly all of its time in these moments; None where the log has none."""
    if upper.layer is not Layer.GUEST_DISK or is_disk(upper):
        return None
    least = _NEARLY * figures(upper, slow).latency_s
    found = [
        each for each in system.of(Layer.GUEST_DISK)
        if is_disk(each) and serves(each, upper, slow) and latency_below(upper, each, slow) >= least
    ]  # fmt: skip
    if not found:
        return None
    off = {each.name: middle(np.abs(onto(upper, each, "iops") / upper.values("iops") - 1)[slow]) for each in found}
    lower = min(found, key=lambda each: off[each.name])
    took = time(latency_below(upper, lower, slow))
    rate, load = (middle(onto(upper, lower, metric)[slow]) for metric in ("iops", "outstanding_mean"))
    said = f"{lower.name}: {took} at {number(load)} outstanding and {number(rate)} IOPS in these times."
    where = f"{lower.name} takes {took} at the same rate: look there"
    return Located(where, (beside(upper, lower, said, slow),), (to_record(lower),))
