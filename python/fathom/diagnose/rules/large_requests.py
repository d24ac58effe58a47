"""D14: requests so large that their latency is transfer time: judge by MB/s."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.load import FEWEST, LARGE_BYTES, busy, middle
from fathom.diagnose.evidence.surroundings import VMWARE
from fathom.diagnose.evidence.words import megabytes, number, seen, size, time
from fathom.diagnose.rule import LATENCY, RATE, Kind, Rule
from fathom.finding import Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Every disk."""
    for disk in system.disks:
        chosen = busy(disk) & (disk.values("size_bytes") >= LARGE_BYTES)
        split = disk.mean("split_iops")
        if chosen.sum() < max(FEWEST, 0.5 * busy(disk).sum()):
            continue
        yield Finding(
            "D14",
            disk.name,
            f"{disk.name} moves {size(middle(disk.values('size_bytes')[chosen]))} per request: latency is "
            "transfer time, so judge by MB/s.",
            Severity.NOTE,
            0.55,
            (
                seen(
                    disk,
                    f"{megabytes(middle(disk.values('bytes_per_s')[chosen]))} at "
                    f"{time(middle(disk.values('latency_s')[chosen]))}"
                    + (f"; {number(split)} requests/s are split." if split > 0 else "."),
                    chosen,
                ),
            ),
            None,
            "small requests at the same time are slow, too",
            (
                Remedy(
                    "If requests are split, send smaller ones."
                    if VMWARE in system.ruled_out
                    else "If requests are split (PVSCSI above 512 KiB), send smaller ones.",
                    ("BACKUP DATABASE x TO DISK = '...' WITH MAXTRANSFERSIZE = 524288",),
                    "Backups may take longer elsewhere.",
                    "Split IO/Sec is 0.",
                ),
            ),
        )


RULE = Rule("D14", "very large requests", Kind.LOAD, (RATE, LATENCY), examine)
