"""D16: a backup or restore is the load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import of_waits
from fathom.diagnose.evidence.load import FEWEST, busy, middle
from fathom.diagnose.evidence.maintenance import reported
from fathom.diagnose.evidence.words import megabytes, number, seen, size
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import DISK_COLLECT, VOLUMES, Kind, Need, Rule
from fathom.finding import Evidence, Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System

_BACKUP = "BACKUP DATABASE x TO DISK = '...' WITH BUFFERCOUNT = 50, MAXTRANSFERSIZE = 4194304, COMPRESSION"


def examine(system: System) -> Iterator[Finding]:
    """As the database says, else by the pattern of reads."""
    evidence = reported(system, "backup_bytes_per_s", "Backup or restore", "backup")
    sure = 0.85
    if not evidence:
        evidence, sure = _pattern(system), 0.6
    if evidence and not of_waits(system, "log", "data").sentence:
        yield Finding(
            "D16",
            "backup",
            "The load is a backup: it keeps a fixed number of large reads outstanding, and latency follows from that.",
            Severity.NOTE,
            sure,
            tuple(evidence[:4]),
            None,
            "no backup ran then (msdb.dbo.backupset)",
            (
                Remedy(
                    "Mark the window as maintenance. Faster: more files and buffers; gentler: fewer.",
                    (_BACKUP,),
                    "Memory of BUFFERCOUNT × MAXTRANSFERSIZE.",
                    "Backup throughput in MB/s.",
                ),
            ),
        )


def _pattern(system: System) -> list[Evidence]:
    found = []
    for disk in system.disks:
        chosen = busy(disk) & (disk.values("read_size_bytes") >= 400 * 1024)
        load = disk.load[chosen]
        if chosen.sum() < max(FEWEST, 0.5 * busy(disk).sum()) or np.std(load) > 0.2 * np.mean(load):
            continue
        rate = disk.mean("read_bytes_per_s", chosen)
        if any(
            other is not disk
            and 0.6 < other.mean("write_bytes_per_s", None) / max(disk.mean("read_bytes_per_s"), 1) < 1.4
            for other in system.disks
        ):
            found.append(
                seen(
                    disk,
                    f"Reads of {size(middle(disk.values('read_size_bytes')[chosen]))} at a constant "
                    f"{number(float(np.mean(load)))} outstanding, {megabytes(rate)}; another disk is written at "
                    "the same rate.",
                    chosen,
                )
            )
    return found


RULE = Rule(
    "D16",
    "backup",
    Kind.LOAD,
    (
        Need(
            (*VOLUMES, Layer.DATABASE, Layer.DATABASE_WAIT),
            ("iops", "backup_bytes_per_s", "wait_s_per_s", "active_sessions"),
            f"{DISK_COLLECT}; or the database's waits (fathom record --print sqlserver)",
        ),
    ),
    examine,
)
