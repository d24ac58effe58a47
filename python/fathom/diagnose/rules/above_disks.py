"""D30: the database waits for its files while the disks below are fast: the time is lost in the server between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.elsewhere import processors, stolen
from fathom.diagnose.evidence.files import lies_on
from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import middle
from fathom.diagnose.evidence.lost_above import Lost, lost_above
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import DISKS, LATENCY, Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System

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
    file, disk, above_s, below_s = most.upper, most.lower, most.above_s, most.below_s
    harm = of_storage(system, file)
    asked, done = (middle(each[most.chosen]) for each in (file.values("iops"), onto(file, disk, "iops")))
    rates = f"{number(asked)} requests/s to the file, {number(done)} to "
    words = f"{time(above_s)} as the database sees it, {time(below_s)} as the disk does"
    yield Finding(
        "D30",
        file.name,
        f"The time is lost in the server, above its disks: {file.name} takes {time(above_s)}, and {disk.name} below it "
        f"{time(below_s)} in the same intervals{most.when}.",
        harm.severity,
        0.7,
        (seen(file, f"{words}; {rates}the disk.", most.chosen),),
        harm.sentence,
        "the file lies on another disk than this one, which the log lacks",
        (_FILTERS,),
    )


def _lost(system: System, file: Device) -> Lost | None:
    """What a file loses above its disk."""
    found = (lost_above(system, file, disk) for disk in system.of(*DISKS) if lies_on(file, disk))
    return next((each for each in found if each is not None), None)


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
