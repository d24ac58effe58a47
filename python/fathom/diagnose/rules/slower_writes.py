"""D36: writes that take several times as long from one moment on, at the same load: a write cache may be off.

Context, never the verdict: they may still be short. A controller whose battery fails writes through its cache until
somebody sees it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.join import ranks
from fathom.diagnose.evidence.load import middle, worked
from fathom.diagnose.evidence.surroundings import VMWARE, is_nvme
from fathom.diagnose.evidence.unexplained import same_kind, unexplained
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.rule import DISK_COLLECT, DISKS, Kind, Need, Rule
from fathom.finding import Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_TIMES, _CACHED_S = 4.0, 1e-3
"""Times as long as before, and the latency before at which a cache may have taken them."""
_FEWEST, _PART = 20, 0.1
"""Moments before and after, and their part of the log."""
_APART = 0.95
"""Share of the moments of either time on its own side of the middle between the two."""
_SAME_RATE, _SAME_READS = 0.3, 1.3
"""How far apart the rates of writes are at one load, and how much longer reads may take."""
_COUNTED = 5.0
"""Requests of an interval whose mean counts."""
_CACHE = Remedy(
    "Look at the write cache below the disk at this moment: whether it is off since its battery failed or learns, or a "
    "setting was changed.",
    ("storcli64 /call/bbu show all", "ssacli ctrl all show detail"),
    "None to look.",
    "Writes take as long as before.",
)


def examine(system: System) -> Iterator[Finding]:
    """Every disk that may have a controller; where another user is looked for (D20), the cache is named there."""
    for disk in system.disks:
        parts = None if VMWARE in system.ruled_out or is_nvme(disk.device) else _slower(disk)
        if parts is None or unexplained(disk) is not None:
            continue
        before, after = parts
        writes, rate = disk.values("write_latency_s"), disk.values("write_iops")
        usual, later = middle(writes[before]), middle(writes[after])
        words = (
            f"{number(middle(rate[after]))} writes/s at {time(later)} since then, {number(middle(rate[before]))} at "
            f"{time(usual)} before; reads take as long as before."
        )
        yield Finding(
            "D36",
            disk.name,
            f"Writes to {disk.name} take {time(later)} instead of {time(usual)} from one moment on, at the same load, "
            "and stay so: a write cache below it may be off.",
            Severity.NOTE,
            0.6,
            (seen(disk, words, after),),
            None,
            "the cache is on, and something else changed at this moment",
            (_CACHE,),
        )


def _slower(disk: Device) -> tuple[Flags, Flags] | None:
    """The moments before and after writes became slower for good; None where they did not."""
    writes, rate = disk.values("write_latency_s"), disk.values("write_iops")
    known = worked(disk) & np.isfinite(writes) & (rate * disk.seconds >= _COUNTED)
    places = np.flatnonzero(known)
    if len(places) < 2 * _FEWEST:
        return None
    # Pettitt's change point: where the ranks before differ most from those after.
    differing = np.abs(np.cumsum(ranks(writes[places]) - (len(places) + 1) / 2))
    cut = places[int(np.argmax(differing[:-1]))]
    before, after = known & (np.arange(len(known)) <= cut), known & (np.arange(len(known)) > cut)
    if min(before.sum(), after.sum()) < max(_FEWEST, _PART * len(places)):
        return None
    usual, later = middle(writes[before]), middle(writes[after])
    border = np.sqrt(usual * later)
    apart = min((writes[before] < border).mean(), (writes[after] > border).mean()) >= _APART
    grown = usual <= _CACHED_S and later >= _TIMES * usual and apart
    return (before, after) if grown and _as_before(disk, before, after) else None


def _as_before(disk: Device, before: Flags, after: Flags) -> bool:
    """Whether as much is written as before, and reads take as long."""
    rate, reads = disk.values("write_iops"), disk.values("read_latency_s")
    often = disk.values("read_iops") * disk.seconds >= _COUNTED
    as_much = abs(middle(rate[after]) / middle(rate[before]) - 1) <= _SAME_RATE
    longer = middle(reads[after & often]) > _SAME_READS * middle(reads[before & often])
    return as_much and same_kind(disk, before, after) and not longer


RULE = Rule(
    "D36",
    "writes that became slower for good",
    Kind.CONTEXT,
    (Need(DISKS, ("write_iops",), DISK_COLLECT), Need(DISKS, ("write_latency_s",), DISK_COLLECT)),
    examine,
)
