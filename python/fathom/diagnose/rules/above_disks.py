"""D30: the database waits for its files while the disks below are fast: the time is lost in the server between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.elsewhere import processors, stolen
from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import FEWEST, middle, worked
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import DISKS, LATENCY, Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System

_TIMES, _CARRIES = 4.0, 0.5
"""How many times as long as its disk a file takes, and the part of its rate that reaches the disk at least."""
_FILTERS = Remedy(
    "List the filter drivers above the volumes. Exclude the database's files from virus scans; look at encryption, "
    "compression and backup agents; then at waits for processors.",
    ("fltmc instances", "fltmc filters"),
    "Files that are excluded are not scanned.",
    "Files take as long as the disks below them.",
)


def examine(system: System) -> Iterator[Finding]:
    """The file that loses most time, if any."""
    # A file also waits until its server gets a processor.
    if processors(system) is not None or stolen(system) is not None:
        return
    lost = [found for file in system.of(Layer.DATABASE_FILE) if (found := _lost(system, file)) is not None]
    if not lost:
        return
    _, file, disk, above_s, below_s = max(lost, key=lambda each: each[0])
    harm = of_storage(system)
    rates = f"{number(middle(file.values('iops')))} requests/s to the file, {number(middle(disk.values('iops')))} to "
    yield Finding(
        "D30",
        file.name,
        f"The time is lost in the server, above its disks: {file.name} takes {time(above_s)}, and {disk.name} below it "
        f"{time(below_s)} in the same intervals.",
        harm.severity,
        0.7,
        (seen(file, f"{time(above_s)} as the database sees it, {time(below_s)} as the disk does; {rates}the disk."),),
        harm.sentence,
        "the file lies on another disk than this one, which the log lacks",
        (_FILTERS,),
    )


def _lost(system: System, file: Device) -> tuple[float, Device, Device, float, float] | None:
    """Time per second that a file loses above its disk, with both and their latencies."""
    for disk in (each for each in system.of(*DISKS) if _holds(each, file)):
        below, rates = onto(file, disk, "latency_s"), onto(file, disk, "iops")
        both = worked(file) & np.isfinite(file.values("latency_s")) & np.isfinite(below)
        if both.sum() < FEWEST:
            continue
        above_s, below_s = middle(file.values("latency_s")[both]), middle(below[both])
        asked = middle(file.values("iops")[both])
        slow = above_s > tier_of(system, file).target_s and above_s >= _TIMES * below_s
        if slow and below_s <= tier_of(system, disk).target_s and middle(rates[both]) >= _CARRIES * asked:
            return (above_s - below_s) * asked, file, disk, above_s, below_s
    return None


def _holds(disk: Device, file: Device) -> bool:
    """Whether a file lies on a disk by the letter of both."""
    letter = (file.device or "")[:2].casefold()
    return letter.endswith(":") and letter in (disk.device or "").casefold().split()


RULE = Rule(
    "D30",
    "time lost above the disks",
    Kind.CAUSE,
    (
        LATENCY,
        Need((Layer.DATABASE_FILE,), ("latency_s",), "SQL Server's file statistics (fathom record --print sqlserver)"),
    ),
    examine,
)
