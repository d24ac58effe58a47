"""Too little memory behind a disk's load: pages that the system or the database had thrown out are read again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import FEWEST, busy, middle
from fathom.diagnose.evidence.words import megabytes, number, share, size
from fathom.diagnose.metrics import Layer
from fathom.finding import Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags, Floats
    from fathom.diagnose.evidence.system import System

_PAGE, _DATABASE_PAGE = 4096.0, 8192.0
_LEAST_BYTES, _PART = 1e6, 0.3
"""Pages read per second that matter, and their share of what the disk reads."""
LITTLE_BYTES, _LITTLE_PART = 300e6, 0.1
"""Memory that is available, in bytes or as a part of the log's usual, below which reads of pages mean paging."""
_READS, _LAZY, _STALLS = 90.0, 20.0, 2.0
"""Page reads, lazy writes and waits for a free page, per second, from which a buffer pool has too little memory."""
_SHORT_LIFE_S, _FALLS = 300.0, 0.3
"""Page life expectancy that is short by itself, or as a part of the log's highest."""


MAX_SERVER_MEMORY = (
    "EXEC sp_configure 'show advanced options', 1; RECONFIGURE; "
    "EXEC sp_configure 'max server memory (MB)', N; RECONFIGURE"
)


SWAPPED = Remedy(
    "Give the host memory back: move machines to other hosts (vMotion), take memory limits off, and give machines no "
    "more than they use. Reserve all memory of the database's machine, so that none of it is swapped.",
    (
        "esxtop (m: SWCUR, SWR/s and MCTLSZ of each machine)",
        "PowerCLI: Get-VM | Get-VMResourceConfiguration | Select VM, MemReservationGB, MemLimitGB",
    ),
    "A reservation takes memory from other machines.",
    "SWR/s is 0 in esxtop; what is still in swap comes back when it is used.",
)


@dataclass(frozen=True)
class Pressure:
    """What shows it: of an operating system that pages, or of a database's buffer pool."""

    host: Device
    pages: bool
    sentence: str


def pressure(system: System, disk: Device, latency_s: float) -> tuple[Flags, Pressure] | None:
    """The moments at which a disk is slower than it should be, and the lack of memory that keeps it busy then."""
    latency = disk.values("latency_s")
    slow = busy(disk) & (latency > latency_s)
    if slow.sum() < FEWEST or slow.sum() < 0.5 * (busy(disk) & np.isfinite(latency)).sum():
        return None
    own = (_swapping(system, disk, slow),) if disk.layer is Layer.HOST_DEVICE else (
        _paging(system, disk, slow), _starved(system, disk, slow)
    )  # fmt: skip
    found = next(chain(*own), None)
    return None if found is None else (slow, found)


def _paging(system: System, disk: Device, slow: Flags) -> Iterator[Pressure]:
    read = middle(disk.values("read_bytes_per_s")[slow])
    for host in system.of(Layer.HOST):
        if host.device is not None or host.host != disk.host:
            continue
        swapped = middle(onto(disk, host, "swap_in_bytes_per_s")[slow])
        faults = middle(onto(disk, host, "hard_faults_per_s")[slow])
        # Linux counts faults of files, too: there only swapping is for lack of memory.
        moved = swapped if host.has("swap_in_bytes_per_s") else faults * _PAGE
        if not (moved >= _LEAST_BYTES and (moved >= _PART * read or np.isnan(read))):
            continue
        left = onto(disk, host, "memory_available_bytes")
        little = middle(left[slow])
        if not host.has("swap_in_bytes_per_s") and not (
            little <= LITTLE_BYTES or little <= _LITTLE_PART * middle(host.values("memory_available_bytes"), 90)
        ):
            continue
        of_all = f", {share(min(1.0, moved / read))} of what the disk reads" if read > 0 else ""
        free = f"; {number(little / 1e6)} MB are available" if little > 0 else ""
        yield Pressure(host, True, f"{number(moved / 1e6)} MB/s of pages are read back{of_all}{free}.")


def swapping(host: Device) -> Flags:
    """When a hypervisor reads so much of its machines' memory from swap that they wait for it."""
    return np.nan_to_num(host.values("swap_in_bytes_per_s")) >= _LEAST_BYTES


def _swapping(system: System, lun: Device, slow: Flags) -> Iterator[Pressure]:
    """A hypervisor whose swapping is a good part of what a device reads: that device holds the swap files."""
    read = middle(lun.values("read_bytes_per_s")[slow])
    for host in system.hosts:
        moved, out = (middle(onto(lun, host, f"swap_{way}_bytes_per_s")[slow]) for way in ("in", "out"))
        if host.host != lun.host or not (moved >= _LEAST_BYTES and _PART * read <= moved <= read / _PART):
            continue
        words = f"The host reads {megabytes(moved)} of its machines' memory from swap and writes {megabytes(out)}"
        yield Pressure(host, True, f"{words}; {lun.name} reads {megabytes(read)} in all.")


def _starved(system: System, disk: Device, slow: Flags) -> Iterator[Pressure]:
    read = middle(disk.values("read_bytes_per_s")[slow])
    for server in system.databases:
        if not server.has("page_reads_per_s"):
            continue
        reads, lazy, stalls, life = (
            middle(onto(disk, server, metric)[slow])
            for metric in ("page_reads_per_s", "lazy_writes_per_s", "free_list_stalls_per_s", "page_life_s")
        )
        if not is_starved(reads, lazy, stalls) or reads * _DATABASE_PAGE < _PART * read:
            continue
        if np.isfinite(life) and not is_short(server.values("page_life_s"), life):
            continue
        parts = [f"{number(reads)} page reads/s"]
        parts += [f"{number(lazy)} lazy writes/s"] if lazy > 0 else []
        parts += [f"{number(stalls)} waits/s for a free page"] if stalls > 0 else []
        parts += [f"a page stays {number(life)} s"] if np.isfinite(life) else []
        mean = middle(disk.values("size_bytes")[slow])
        of_all = f"; the disk reads {number(read / 1e6)} MB/s in requests of {size(mean)}" if read > 0 else ""
        yield Pressure(server, False, f"{', '.join(parts)}{of_all}.")


def is_starved(reads: float, lazy: float, stalls: float) -> bool:
    """Whether a buffer pool with so many page reads, lazy writes and waits for a free page per second is too small."""
    return reads > _READS and (lazy > _LAZY or stalls > _STALLS)


def is_short(life: Floats, then: float) -> bool:
    """Whether a page's life is short at a time, by itself or beside the log's longest."""
    return bool(then <= _SHORT_LIFE_S or then < _FALLS * float(np.nanmax(life)))
