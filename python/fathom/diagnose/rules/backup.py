"""D16: a backup or restore is the load, or another job that reads much in large requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import fewer_batches, longer_responses, of_waits
from fathom.diagnose.evidence.join import above, onto
from fathom.diagnose.evidence.load import FEWEST, IDLE_LOAD, middle, worked
from fathom.diagnose.evidence.maintenance import reported, slower
from fathom.diagnose.evidence.words import megabytes, number, seen, size, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import DISK_COLLECT, VOLUMES, Kind, Need, Rule
from fathom.finding import Evidence, Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.harm import Harm
    from fathom.diagnose.evidence.system import System

_GENTLE = Remedy(
    "Move the backup to a quieter time, or make it gentler: one file, few buffers, a limit on its rate.",
    (
        "BACKUP DATABASE x TO DISK = '...' WITH BUFFERCOUNT = 2, MAXTRANSFERSIZE = 524288",
        "PostgreSQL: pg_basebackup --max-rate=100M ...",
    ),
    "The backup takes longer.",
    "Fewer sessions wait while it runs.",
)
_WINDOW = Remedy(
    "Mark the window as maintenance. If the backup has to be faster: more files and buffers, and compression (which "
    "Express and Web do not have). If users begin to wait: fewer.",
    ("BACKUP DATABASE x TO DISK = '...' WITH BUFFERCOUNT = 50, MAXTRANSFERSIZE = 4194304",),
    "A faster backup leaves less to others, and takes memory of BUFFERCOUNT × MAXTRANSFERSIZE.",
    "Backup throughput in MB/s.",
)
_BY_TIME = Remedy(
    "If others work in these times, move the backup to a quieter time, or make it gentler: one file, few buffers, a "
    "limit on its rate. If nobody does, mark the window as maintenance.",
    _GENTLE.commands,
    "The backup takes longer.",
    "Other requests take as long as without it.",
)
_FIND = Remedy(
    "See which job or statement reads then. A backup or check: move it to a quieter time. A scan: an index, or memory.",
    (
        "SELECT TOP 9 total_physical_reads, sql_handle FROM sys.dm_exec_query_stats ORDER BY total_physical_reads DESC",
        "PostgreSQL: SELECT query, shared_blks_read FROM pg_stat_statements ORDER BY shared_blks_read DESC LIMIT 10",
    ),
    "None to look.",
    "Reads keep their usual size, and latency with them.",
)
_UNSEEN = "The load is a backup or restore, by the sessions that wait in it; no log shows its large reads."
_LARGE_BYTES, _BACKUP_BYTES = 64 * 1024.0, 400 * 1024.0
"""Mean size of reads, from which large ones are among them, and from which they are those of a backup alone."""
_MOST_READ = 0.8
"""Part of all bytes that are read where large requests of both ways are large reads."""
_TIMES = 4.0
"""How many times their usual size reads reach, and how many times the usual bytes they move, as large ones come in."""
_OFTEN = 0.6
"""How much more often than not a moment with large reads is slower than one without (`join.above`)."""


def examine(system: System) -> Iterator[Finding]:
    """As the database says, else by the pattern of reads."""
    found = reported(system, "backup_bytes_per_s", "Backup or restore", "backup")
    if found is not None:
        small = None if _is_counted(system) else _small_reads(system)
        backup = _backup(found.harm, 0.85, found.evidence, slows=found.slows)
        if small is not None:
            backup = replace(backup, what=_UNSEEN, confidence=0.6, evidence=(*backup.evidence[:3], small))
        yield backup
        return
    copied = [(disk, said) for disk in system.disks if (said := _copied(system, disk))]
    if copied:
        harm = of_waits(system.beside(copied[0][0]), "log", "data")
        yield _backup(harm, 0.6, tuple(each for _, evidence in copied for each in evidence), slows=True)
        return
    # A check reads as much, and says so itself.
    checked = any(each.has("check_bytes_per_s") and each.mean("check_bytes_per_s") > 0 for each in system.databases)
    for disk in system.disks:
        found_by_size = None if checked else _joined_by_large(disk)
        if found_by_size is not None:
            large, evidence = found_by_size
            # Users who wait for nothing that was recorded may still get less done.
            less = fewer_batches(system, disk, large) or longer_responses(system, disk, large)
            harm = of_waits(system.beside(disk), "log", "data")
            harm = harm if harm.sentence else less or harm
            yield Finding(
                "D16",
                disk.name,
                f"Large reads of {disk.name} are the load, as of a backup, a check or a scan of tables: other requests "
                "wait behind them.",
                harm.severity,
                0.55,
                evidence,
                harm.sentence,
                "no backup, check or scan ran then",
                (_FIND,),
            )


def _backup(harm: Harm, sure: float, evidence: tuple[Evidence, ...], *, slows: bool) -> Finding:
    return Finding(
        "D16",
        "backup",
        "The load is a backup: it keeps a fixed number of large reads outstanding; a latency that is long then follows "
        "from that.",
        harm.severity if harm.sentence else Severity.NOTE,
        sure,
        evidence[:4],
        harm.sentence,
        "no backup ran then (msdb.dbo.backupset)",
        (_GENTLE if harm.sentence else _BY_TIME if slows else _WINDOW,),
    )


def _is_counted(system: System) -> bool:
    """Whether a database tells how much the backup moves, not its waits alone that one runs."""
    return any((each.values("backup_bytes_per_s") > 0).any() for each in system.databases)


def _small_reads(system: System) -> Evidence | None:
    """That no disk has a moment with large reads; None where one has, or no log tells their size."""
    timed = [disk for disk in system.nearest if disk.has("read_size_bytes")]
    if not timed or any((disk.values("read_size_bytes") >= _LARGE_BYTES).any() for disk in timed):
        return None
    most = max(timed, key=lambda disk: float(np.nan_to_num(disk.mean("read_iops"))))
    return seen(most, f"Reads of {most.name} are of {size(most.mean('read_size_bytes'))} on average.")


def _copied(system: System, disk: Device) -> list[Evidence]:
    """Large reads alone, a constant number at a time, and another disk that is written at their rate."""
    sizes, load = disk.values("read_size_bytes"), disk.load
    chosen = (np.nan_to_num(load) >= IDLE_LOAD) & (sizes >= _BACKUP_BYTES)
    if chosen.sum() < FEWEST or np.std(load[chosen]) > 0.2 * np.mean(load[chosen]):
        return []
    rate = disk.mean("read_bytes_per_s", chosen)
    written = (np.nanmean(onto(disk, other, "write_bytes_per_s")[chosen]) for other in system.disks
               if other is not disk and other.has("write_bytes_per_s"))  # fmt: skip
    follows = slower(disk, chosen, worked(disk) & ~chosen)
    if follows is None or not any(0.6 < each / max(rate, 1) < 1.4 for each in written):
        return []
    words = (
        f"Reads of {size(middle(sizes[chosen]))} at a constant {number(float(np.mean(load[chosen])))} outstanding, "
        f"{megabytes(rate)}; another disk is written at the same rate."
    )
    return [seen(disk, words, chosen), follows]


def _joined_by_large(disk: Device) -> tuple[Flags, tuple[Evidence, ...]] | None:
    """Large reads that come in beside the usual ones: the mean size rises, more is moved, and requests take longer."""
    # Where a log counts reads and writes together, as sar does, the size of all shows it if most bytes are read.
    alone = disk.has("read_size_bytes")
    sizes = disk.values("read_size_bytes" if alone else "size_bytes")
    latency = disk.values("latency_s")
    known = worked(disk) & np.isfinite(sizes) & np.isfinite(latency)
    if known.sum() < 2 * FEWEST:
        return None
    usual = middle(sizes[known], 10)
    large = known & (sizes >= max(_LARGE_BYTES, _TIMES * usual)) & (np.nan_to_num(disk.load) >= IDLE_LOAD)
    small = known & (sizes <= 2 * usual)
    if min(large.sum(), small.sum()) < FEWEST or large.sum() + small.sum() < 0.9 * known.sum():
        return None
    moved, before = disk.mean("read_bytes_per_s", large), disk.mean("read_bytes_per_s", small)
    if not alone and not moved >= _MOST_READ * disk.mean("bytes_per_s", large):
        return None
    follows = slower(disk, large, small)
    if follows is None or not moved >= _TIMES * before or above(latency[large], latency[small]) < _OFTEN:
        return None
    how = "Reads of {} on average move" if alone else "Requests of {} on average read"
    words = (
        f"{how.format(size(middle(sizes[large])))} {megabytes(moved)} at {time(middle(latency[large]))}; otherwise "
        f"{size(middle(sizes[small]))} and {megabytes(before)}."
    )
    return large, (seen(disk, words, large), follows)


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
