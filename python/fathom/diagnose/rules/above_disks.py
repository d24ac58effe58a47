"""D30: the database waits for its files while the disks below are fast: the time is lost in the server between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fathom.diagnose.evidence.elsewhere import processors, stolen
from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import FEWEST, middle, worked
from fathom.diagnose.evidence.slow_time import of_the_time, stretches
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import DISKS, LATENCY, Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_TIMES, _CARRIES = 4.0, 0.5
"""How many times as long as its disk a file takes, and the part of its rate that reaches the disk at least."""
_PART, _MOST = 0.05, 0.8
"""Part of the time from which it matters, and from which it is all of it."""
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
    most = max(lost, key=lambda each: each.lost)
    file, disk, above_s, below_s = most.file, most.disk, most.above_s, most.below_s
    harm = of_storage(system)
    asked, done = (middle(each[most.chosen]) for each in (file.values("iops"), onto(file, disk, "iops")))
    rates = f"{number(asked)} requests/s to the file, {number(done)} to "
    words = f"{time(above_s)} as the database sees it, {time(below_s)} as the disk does"
    always = file.seconds[most.chosen].sum() >= _MOST * file.seconds[worked(file)].sum()
    when = "" if always else f", in {of_the_time(file, most.chosen)}"
    yield Finding(
        "D30",
        file.name,
        f"The time is lost in the server, above its disks: {file.name} takes {time(above_s)}, and {disk.name} below it "
        f"{time(below_s)} in the same intervals{when}.",
        harm.severity,
        0.7,
        (seen(file, f"{words}; {rates}the disk.", most.chosen),),
        harm.sentence,
        "the file lies on another disk than this one, which the log lacks",
        (_FILTERS,),
    )


class _Lost(NamedTuple):
    """Time per second that a file loses above its disk, both with their latencies, and when that was."""

    lost: float
    file: Device
    disk: Device
    above_s: float
    below_s: float
    chosen: Flags


def _lost(system: System, file: Device) -> _Lost | None:
    """What a file loses above its disk: all the time, else in the stretches in which it is slow."""
    for disk in (each for each in system.of(*DISKS) if _holds(each, file)):
        latency, below, rates = file.values("latency_s"), onto(file, disk, "latency_s"), onto(file, disk, "iops")
        both = worked(file) & np.isfinite(latency) & np.isfinite(below)
        slow = stretches(both & (latency > tier_of(system, file).target_s) & (latency >= _TIMES * below))
        for chosen in (both, slow):
            if chosen.sum() < FEWEST or file.seconds[chosen].sum() < _PART * file.seconds[both].sum():
                continue
            above_s, below_s, asked = (middle(each[chosen]) for each in (latency, below, file.values("iops")))
            is_slow = above_s > tier_of(system, file).target_s and above_s >= _TIMES * below_s
            if is_slow and below_s <= tier_of(system, disk).target_s and middle(rates[chosen]) >= _CARRIES * asked:
                return _Lost((above_s - below_s) * asked, file, disk, above_s, below_s, chosen)
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
