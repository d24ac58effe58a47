"""D28: too little memory overloads a disk: what was thrown out of memory is read again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.load import middle
from fathom.diagnose.evidence.memory import MAX_SERVER_MEMORY, SWAPPED, pressure
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import DISK_COLLECT, VOLUMES, Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System

_BUFFERS = Remedy(
    "Look for missing indexes first, then give the database more memory.",
    (MAX_SERVER_MEMORY, "PostgreSQL: ALTER SYSTEM SET shared_buffers = '...GB'"),
    "Leave memory to the operating system.",
    "Pages stay longer, page reads fall, and the disk's latency with them.",
)
_PAGING = Remedy(
    "Find what takes the memory and limit it, or give the machine more. A database's own limit has to leave room for "
    "the operating system and for other programs.",
    (
        MAX_SERVER_MEMORY,
        "Windows: Get-Process | Sort-Object WS -Descending | Select-Object -First 10",
        "Linux: ps -eo pid,rss,comm --sort=-rss | head",
    ),
    "A smaller buffer pool reads more.",
    "No more pages are read back, and the disk's latency falls.",
)
_MACHINE = "The machine has too little memory and pages", _PAGING
_DATABASE = "The database has too little memory and reads the same pages again", _BUFFERS


def examine(system: System) -> Iterator[Finding]:
    """Disks that are slow while memory lacks; where they keep their latency, D21 tells."""
    for disk in (*system.disks, *system.of(Layer.HOST_DEVICE)):
        found = pressure(system, disk, tier_of(system, disk).target_s)
        if found is None:
            continue
        slow, lack = found
        harm, latency = of_storage(system, disk), middle(disk.values("latency_s")[slow])
        who, remedy = _MACHINE if lack.pages else _DATABASE
        if disk.layer is Layer.HOST_DEVICE:
            who, remedy = f"The host {lack.host.name} has too little memory and swaps that of its machines", SWAPPED
        yield Finding(
            "D28",
            disk.name,
            f"{who}: that overloads {disk.name}, and its latency of {time(latency)} is the consequence.",
            harm.severity,
            0.8,
            (
                seen(disk, lack.sentence, slow),
                seen(
                    disk,
                    f"{number(middle(disk.values('iops')[slow]))} IOPS at {time(latency)} with "
                    f"{number(middle(disk.load[slow]))} outstanding.",
                    slow,
                ),
            ),
            harm.sentence,
            "reads are of pages never read before (a larger working set, scans, files that are mapped)",
            (remedy,),
        )


RULE = Rule(
    "D28",
    "too little memory overloads a disk",
    Kind.CAUSE,
    (
        Need((*VOLUMES, Layer.HOST_DEVICE), ("latency_s",), DISK_COLLECT),
        Need(
            (Layer.HOST, Layer.DATABASE),
            ("hard_faults_per_s", "page_reads_per_s", "swap_in_bytes_per_s"),
            "perfmon Memory\\*, or fathom record on Linux",
        ),
    ),
    examine,
)
