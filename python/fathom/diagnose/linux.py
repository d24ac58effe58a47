"""The Linux kernel's counters as metrics: the lines of /proc/diskstats, stat, meminfo, vmstat and pressure.

Fields of diskstats: Documentation/admin-guide/iostats.rst of the kernel. Sectors are 512 bytes whatever the device's
are; times are ms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fathom.diagnose.counters import Counted

DISK = Counted(
    rates={
        "read_iops": ("reads", 1),
        "write_iops": ("writes", 1),
        "discard_iops": ("discards", 1),
        "flush_iops": ("flushes", 1),
        "read_bytes_per_s": ("read_sectors", 512),
        "write_bytes_per_s": ("written_sectors", 512),
        "discard_bytes_per_s": ("discarded_sectors", 512),
        "read_merges_per_s": ("read_merges", 1),
        "write_merges_per_s": ("write_merges", 1),
        "busy_percent": ("busy_ms", 0.1),
        "outstanding_mean": ("outstanding_ms", 1e-3),
    },
    means={
        "read_latency_s": ("read_ms", "reads", 1e-3),
        "write_latency_s": ("write_ms", "writes", 1e-3),
        "discard_latency_s": ("discard_ms", "discards", 1e-3),
        "flush_latency_s": ("flush_ms", "flushes", 1e-3),
        "read_size_bytes": ("read_sectors", "reads", 512),
        "write_size_bytes": ("written_sectors", "writes", 512),
    },
)
_FIELDS = (
    "reads", "read_merges", "read_sectors", "read_ms", "writes", "write_merges", "written_sectors", "write_ms",
    "outstanding", "busy_ms", "outstanding_ms", "discards", "discard_merges", "discarded_sectors", "discard_ms",
    "flushes", "flush_ms",
)  # fmt: skip

DISKSTATS = re.compile(r"^\s*(\d+)\s+(\d+)\s+([A-Za-z]\S*)((?:\s+\d+){11,17})\s*$")
_PARTITION = re.compile(r"^(?:((?:sd|vd|xvd|hd)[a-z]+)\d+|((?:nvme\d+n\d+|mmcblk\d+|loop\d+|md\d+))p\d+)$")
_SCSI, _MINORS = re.compile(r"^(dev(?:8|6[5-9]|7[01]|12[89]|13[0-5])-)(\d+)$"), 16
"""sar's names of SCSI disks and their partitions by major and minor number (Documentation/admin-guide/devices.txt), and
how many numbers each disk has: 0, 16, ... are disks.
"""
_IDLE_KINDS = re.compile(r"^(?:ram|zram|sr|fd)\d+$")


def disk(line: str) -> tuple[str, dict[str, float]] | None:
    """Name and counters of a line of /proc/diskstats; None for what is none."""
    found = DISKSTATS.match(line)
    if not found:
        return None
    return found[3], {name: float(cell) for name, cell in zip(_FIELDS, found[4].split(), strict=False)}


def is_whole_disk(name: str) -> bool:
    """Whether a device is no partition and none of the kinds that hold no data (RAM, optical)."""
    return not _PARTITION.match(name) and not _IDLE_KINDS.match(name)


def is_used(counters: Mapping[str, float]) -> bool:
    """Whether a device ever completed a request: the kernel lists many that no one uses."""
    return any(counters.get(name) for name in ("reads", "writes", "discards", "flushes"))


def disk_of(name: str) -> str | None:
    """The disk that a partition is of; None for what is no partition."""
    found = _PARTITION.match(name)
    if found:
        return found[1] or found[2]
    numbered = _SCSI.match(name)
    part = int(numbered[2]) % _MINORS if numbered else 0
    return f"{numbered[1]}{int(numbered[2]) - part}" if numbered and part else None


CPU = Counted(
    rates={},
    means={
        "cpu_percent": ("busy", "all", 100),
        "cpu_user_percent": ("user", "all", 100),
        "cpu_system_percent": ("system", "all", 100),
        "cpu_iowait_percent": ("iowait", "all", 100),
        "cpu_steal_percent": ("steal", "all", 100),
        "cpu_nice_percent": ("nice", "all", 100),
    },
)


def processor(line: str) -> dict[str, float] | None:
    """Ticks from the line `cpu` of /proc/stat; None for what is none."""
    cells = line.split()
    if len(cells) < 8 or cells[0] != "cpu" or not all(cell.isdigit() for cell in cells[1:9]):
        return None
    ticks = [float(cell) for cell in cells[1:9]]
    user, nice, system, idle, iowait, irq, soft = ticks[:7]
    return {
        "user": user + nice,
        "nice": nice,
        "system": system + irq + soft,
        "iowait": iowait,
        "steal": ticks[7] if len(ticks) > 7 else 0.0,
        "busy": sum(ticks) - idle - iowait,
        "all": sum(ticks),
    }


PAGING = Counted(
    rates={
        "hard_faults_per_s": ("pgmajfault", 1),
        "swap_in_bytes_per_s": ("pswpin", 4096),
        "swap_out_bytes_per_s": ("pswpout", 4096),
    }
)
PRESSURE = Counted(
    rates={
        "cpu_pressure_percent": ("cpu_some", 1e-4),
        "io_pressure_percent": ("io_some", 1e-4),
        "io_pressure_full_percent": ("io_full", 1e-4),
        "memory_pressure_percent": ("memory_some", 1e-4),
    }
)
"""Totals of /proc/pressure are µs: µs per second are 1e-4 percent."""
MEMORY: Mapping[str, str] = {"MemAvailable": "memory_available_bytes", "Dirty": "memory_dirty_bytes"}
"""Lines of /proc/meminfo, in kB."""
