"""D15: one disk of several alike does most of the work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.words import number, seen
from fathom.diagnose.rule import RATE, Kind, Rule
from fathom.finding import Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Disks that do the same kind of I/O: at least four, sizes within a factor of two."""
    disks = [disk for disk in system.disks if disk.mean("iops") > 1 and disk.mean("size_bytes") > 0]
    if len(disks) < 4:
        return
    hot = max(disks, key=lambda disk: disk.mean("iops"))
    like = [d for d in disks if 0.5 < d.mean("size_bytes") / hot.mean("size_bytes") < 2]
    mean = float(np.mean([d.mean("iops") for d in like]))
    rest = [float(np.nanmean(d.load)) for d in like if d is not hot and np.isfinite(d.load).any()]
    own = float(np.nanmean(hot.load)) if np.isfinite(hot.load).any() else 0.0
    if len(like) >= 4 and hot.mean("iops") > 2 * mean and own >= 4 and rest and max(rest) < 1:
        yield Finding(
            "D15",
            hot.name,
            f"{hot.name} does {number(hot.mean('iops') / mean)} times the mean of {len(like)} disks of the same "
            "kind, while the others are idle.",
            Severity.NOTE,
            0.5,
            (
                seen(
                    hot,
                    f"{number(hot.mean('iops'))} IOPS with {number(own)} outstanding; the others have less than one.",
                ),
            ),
            None,
            "the disks belong to different filegroups or databases",
            (
                Remedy(
                    "Spread the files evenly, or stripe the disks.",
                    (
                        "New-VirtualDisk -ResiliencySettingName Simple -NumberOfColumns N -Interleave 65536",
                        "lvcreate -i N -I 64k",
                    ),
                    "Data must be moved; a stripe is lost with any of its disks.",
                    "IOPS are equal over the disks.",
                ),
            ),
        )


RULE = Rule("D15", "one hot disk", Kind.CONTEXT, (RATE,), examine)
