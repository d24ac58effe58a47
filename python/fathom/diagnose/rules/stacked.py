"""D34: a block device of Linux is slow and the disk below it is fast: the time is lost in the layer between them.

dm-crypt hands requests to kernel threads by default; Linux 5.9 can do without (`no_read_workqueue` and
`no_write_workqueue`, Documentation/admin-guide/device-mapper/dm-crypt.rst), cryptsetup 2.3.4 sets it (`--perf-no_*`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.elsewhere import processors
from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import middle, worked
from fathom.diagnose.evidence.lost_above import Lost, lost_above
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import LATENCY, RATE, Kind, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System

_DISK = re.compile(r"(?:/dev/)?(?:(?:sd|hd|vd|xvd)[a-z]+|nvme\d+n\d+|mmcblk\d+)$")
"""Linux's names of whole disks. What else serves requests there stands on them."""
_NAME = re.compile(r"[\w-]+")
"""Names that no shell takes for anything else."""
_SAME, _MOSTLY = 0.05, 0.95
"""How far apart two rates are that are of the same requests, and in which part of the moments."""
_FREE = 16.0
"""Requests outstanding below up to which its own queue is not what the device above waits for."""


def examine(system: System) -> Iterator[Finding]:
    """For each disk the lowest device above it that loses time."""
    disks = [each for each in system.of(Layer.GUEST_DISK) if each.has("iops", "latency_s")]
    for lower in (each for each in disks if _DISK.match(each.device or "")):
        above = [each for each in disks if not _DISK.match(each.device or "") and _serves(lower, each)]
        lost = [found for each in above if (found := lost_above(system, each, lower)) is not None]
        # Of two above one another the upper one waits for the lower one.
        lost = [each for each in lost if middle(onto(each.upper, lower, "outstanding_mean")[each.chosen]) <= _FREE]
        if lost:
            yield _finding(system, min(lost, key=lambda each: each.above_s))


def _serves(lower: Device, upper: Device) -> bool:
    """Whether a disk does the very requests of a device: as many in nearly every moment, which chance does not make."""
    if lower.host != upper.host:
        return False
    own, below = upper.values("iops"), onto(upper, lower, "iops")
    both = worked(upper) & np.isfinite(below)
    same = both & (np.abs(below - own) <= _SAME * own)
    return bool(both.any() and same.sum() >= _MOSTLY * worked(upper).sum())


def _finding(system: System, found: Lost) -> Finding:
    upper, lower, chosen = found.upper, found.lower, found.chosen
    harm, full = of_storage(system), processors(system)
    waits, below = (middle(each[chosen]) for each in (upper.load, onto(upper, lower, "outstanding_mean")))
    words = (
        f"{time(found.above_s)} and {number(waits)} outstanding in {upper.name}, {time(found.below_s)} and "
        f"{number(below)} in {lower.name}, at the same {number(middle(upper.values('iops')[chosen]))} IOPS."
    )
    return Finding(
        "D34",
        upper.name,
        f"The time is lost in {upper.name}, above its disk: it takes {time(found.above_s)}, and {lower.name} below it "
        f"{time(found.below_s)} for the same requests{found.when}. A faster disk changes nothing.",
        harm.severity,
        0.75,
        (seen(upper, words, chosen), *(() if full is None else (full.evidence,))),
        harm.sentence,
        f"{lower.name} is not below {upper.name}, or a limit of a control group (io.max) holds the requests above it",
        (_look(upper.device or ""), *(() if full is None else (full.remedy,))),
    )


def _look(name: str) -> Remedy:
    return Remedy(
        "See what the layer does: encryption (crypt), thin volumes, a snapshot, a cache, a replica, several paths. "
        "Encryption: let it work without its queues. Snapshot: merge or remove it. Thin volumes: larger chunks. "
        "Replica: look at its network. Paths: see which fail.",
        (
            f"lsblk -s /dev/{name if _NAME.fullmatch(name) else 'DEVICE'}",
            "Linux: dmsetup table; dmsetup status",
            "Linux: cryptsetup refresh --perf-no_read_workqueue --perf-no_write_workqueue NAME # crypt, from Linux 5.9",
        ),
        "Without its queues encryption runs where the request is made: each processor does its own.",
        "The device takes as long as the disk below it.",
    )


RULE = Rule("D34", "time lost in a layer above a disk", Kind.CAUSE, (RATE, LATENCY), examine)
