"""Counters of the kernel: CPU time of processes, requests of block devices, dirty memory. Unknown is None."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

_SECTOR = 512
"""Bytes per sector in /proc/diskstats, whatever the device's are."""


@dataclass(frozen=True)
class Requests:
    """A block device since it appeared: requests and bytes completed, the sum of their latencies from queueing to
    completion, and the time integral of outstanding requests.
    """

    reads: int
    read_bytes: int
    read_s: float
    writes: int
    write_bytes: int
    write_s: float
    flushes: int | None
    outstanding_s: float


def cpu_seconds(root: int) -> float | None:
    """CPU time of a process and all its children, those that have ended included; None if it is gone."""
    tick_s = 1.0 / os.sysconf("SC_CLK_TCK")
    times: dict[int, tuple[int, float, float]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        own = (int(fields[11]) + int(fields[12])) * tick_s
        ended = (int(fields[13]) + int(fields[14])) * tick_s
        times[int(entry.name)] = (int(fields[1]), own, ended)
    if root not in times:
        return None
    family, grown = {root}, True
    while grown:
        found = {process for process, (parent, _, _) in times.items() if parent in family} - family
        family |= found
        grown = bool(found)
    return sum(times[process][1] + times[process][2] for process in family)


def affinity(process: int) -> frozenset[int]:
    """Numbers of the CPUs that a process may run on; empty if it is gone."""
    try:
        return frozenset(os.sched_getaffinity(process))
    except OSError:
        return frozenset()


def own_cpu_seconds() -> float:
    """CPU time of this process, without its children; finer than ticks: parts are taken off it."""
    return time.process_time()


def requests(device: str, table: str | None = None) -> Requests | None:
    """Counters of a block device by its number "major:minor"; None for one that is not listed.

    Args:
        device: as in mountinfo.
        table: text of /proc/diskstats; read now if None.
    """
    table = Path("/proc/diskstats").read_text(encoding="utf-8") if table is None else table
    for line in table.splitlines():
        fields = line.split()
        if len(fields) < 14 or f"{fields[0]}:{fields[1]}" != device:
            continue
        return Requests(
            reads=int(fields[3]),
            read_bytes=int(fields[5]) * _SECTOR,
            read_s=int(fields[6]) / 1000,
            writes=int(fields[7]),
            write_bytes=int(fields[9]) * _SECTOR,
            write_s=int(fields[10]) / 1000,
            flushes=int(fields[18]) if len(fields) >= 20 else None,
            outstanding_s=int(fields[13]) / 1000,
        )
    return None


def memory() -> dict[str, int]:
    """Bytes of dirty pages and of pages under write-back, of the whole machine."""
    wanted = {"Dirty": "dirty_bytes", "Writeback": "writeback_bytes"}
    found = {}
    for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name in wanted:
            found[wanted[name]] = int(value.split()[0]) * 1024
    return found
