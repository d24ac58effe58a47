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
from fathom.diagnose.evidence.figures import figures
from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import middle, worked
from fathom.diagnose.evidence.lost_above import Lost, lost_above
from fathom.diagnose.evidence.lower import is_disk, serves
from fathom.diagnose.evidence.period import WRITEBACK
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import LATENCY, RATE, Kind, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_NAME = re.compile(r"[\w-]+")
"""Names that no shell takes for anything else."""
_FREE, _OF_ABOVE, _OF_MOST = 16.0, 0.2, 0.5
"""Requests outstanding below up to which its own queue is not what the device above waits for; where they are more, the
parts of those above, and of the most that it had in the log, up to which that queue was not full.
"""
_BURST = 1.5
"""Times as many writes as otherwise that come in bursts."""


def examine(system: System) -> Iterator[Finding]:
    """For each disk the lowest device above it that loses time."""
    disks = [each for each in system.of(Layer.GUEST_DISK) if each.has("iops", "latency_s")]
    found: dict[str, list[Lost]] = {}
    for lower in filter(is_disk, disks):
        above = [each for each in disks if not is_disk(each) and serves(lower, each)]
        lost = [lost for each in above if (lost := lost_above(system, each, lower, single=True)) is not None]
        # Of two above one another the upper one waits for the lower one.
        lost = [each for each in lost if _is_free(each)]
        if lost:
            lowest = min(lost, key=lambda each: each.above_s)
            found.setdefault(lowest.upper.name, []).append(lowest)
    for same in found.values():
        yield _finding(system, max(same, key=lambda each: each.below_s), [each.lower.name for each in same])


def _is_free(found: Lost) -> bool:
    """Whether the queue of the disk below was not full while the device above waited."""
    below = onto(found.upper, found.lower, "outstanding_mean")
    load, most = middle(below[found.chosen]), middle(below, 100)
    return load <= _FREE or load <= min(_OF_MOST * most, _OF_ABOVE * middle(found.upper.load[found.chosen]))


def _finding(system: System, found: Lost, names: list[str]) -> Finding:
    """Of a mirror the slowest of its disks is told beside their names: a write waits for that one."""
    upper, lower, chosen = found.upper, found.lower, found.chosen
    harm, full = of_storage(system, upper), processors(system)
    did, below = figures(upper, chosen), float(np.nanmean(onto(upper, lower, "outstanding_mean")[chosen]))
    words = (
        f"{time(found.above_s)} and {number(did.load)} outstanding in {upper.name}, {time(found.below_s)} and "
        f"{number(below)} in {lower.name}, at the same {number(did.iops)} IOPS."
    )
    mirror = len(names) > 1
    disks, which = "its disk", f"{lower.name} below it"
    if mirror:
        disks, which = "its disks", f"{lower.name}, the slowest of {' and '.join(names)} below it,"
    # The bitmap of a mirror is on its disks.
    faster = "" if mirror else " A faster disk changes nothing."
    return Finding(
        "D34",
        upper.name,
        f"The time is lost in {upper.name}, above {disks}: it takes {time(found.above_s)}, and {which} "
        f"{time(found.below_s)} for the same requests{found.when}.{faster}",
        harm.severity,
        0.75,
        (seen(upper, words, chosen), *(() if full is None else (full.evidence,))),
        harm.sentence,
        f"{lower.name} is not below {upper.name}, or a limit of a control group (io.max) holds the requests above it",
        (
            _look(upper.device or "", mirror=mirror),
            *((WRITEBACK,) if _in_bursts(upper, chosen) else ()),
            *(() if full is None else (full.remedy,)),
        ),
    )


def _in_bursts(upper: Device, chosen: Flags) -> bool:
    """Whether a device is slow while several times as much is written as otherwise, as a kernel writes back."""
    rest = worked(upper) & ~chosen
    many, few = (float(np.nan_to_num(upper.mean("write_iops", moments))) for moments in (chosen, rest))
    return bool(rest.any()) and many >= max(_BURST * few, 0.5 * upper.mean("iops", chosen))


def _look(name: str, *, mirror: bool) -> Remedy:
    device = f"/dev/{name if _NAME.fullmatch(name) else 'DEVICE'}"
    if mirror:
        return Remedy(
            "See what the software RAID does: a check or a resync in that time, and its write-intent bitmap, which is "
            "written before the data: make its chunks larger.",
            (
                f"Linux: cat /proc/mdstat; mdadm --detail {device}",
                f"Linux: mdadm --grow {device} --bitmap=none",
                f"Linux: mdadm --grow {device} --bitmap=internal --bitmap-chunk=256M",
            ),
            "A crash without the bitmap means a resync of the whole array; with larger chunks more of it is resynced.",
            "The array takes as long as the disks below it.",
        )
    return Remedy(
        "See what the layer does: encryption (crypt), thin volumes, a snapshot, a cache, a replica, several paths. "
        "Encryption: let it work without its queues. Snapshot: merge or remove it. Thin volumes: larger chunks. "
        "Replica: look at its network. Paths: see which fail.",
        (
            f"lsblk -s {device}",
            "Linux: dmsetup table; dmsetup status",
            "Linux: cryptsetup refresh --perf-no_read_workqueue --perf-no_write_workqueue NAME # crypt, from Linux 5.9",
        ),
        "Without its queues encryption runs where the request is made: each processor does its own.",
        "The device takes as long as the disk below it.",
    )


RULE = Rule("D34", "time lost in a layer above a disk", Kind.CAUSE, (RATE, LATENCY), examine)
