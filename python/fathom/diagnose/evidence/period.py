"""Slow times that come back by the clock: what does that is a job or a checkpoint, whoever starts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.clock import NS
from fathom.diagnose.evidence.load import busy, in_a_row, middle, worked
from fathom.diagnose.evidence.words import length, number, seen, size
from fathom.finding import Evidence, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device

_FEWEST, _EVEN = 4, 0.1
"""Times that it comes back, and how far one pause may be from the usual one, as a part of it or of an interval."""
_MOST_OF_IT = 0.5
"""Part of the period from which it is no time of its own."""
_WRITTEN, _MORE = 0.5, 4.0
"""Share of writes, and times as many as between, that checkpoints have."""
_CHECKPOINTS = Remedy(
    "Record the database's checkpoints beside the disk. If it is they, spread them over time.",
    (
        "fathom record --print postgresql # pg_stat_checkpointer, pg_stat_io",
        "perfmon SQLServer:Buffer Manager\\Checkpoint pages/sec",
        "PostgreSQL: checkpoint_completion_target = 0.9, larger max_wal_size",
        "SQL Server: ALTER DATABASE x SET TARGET_RECOVERY_TIME = 60 SECONDS",
    ),
    "Recovery after a crash may take longer.",
    "Writes are even, and reads take as long as between.",
)
WRITEBACK = Remedy(
    "See whether the kernel writes back what programs wrote into its cache: Dirty grows between the bursts and falls "
    "in them. If it is that, let it begin sooner, with less at once; or let the database flush as it writes.",
    (
        "Linux: grep -E 'Dirty|Writeback:' /proc/meminfo; sysctl -a | grep vm.dirty",
        "Linux: sysctl -w vm.dirty_background_bytes=268435456 vm.dirty_bytes=1073741824",
        "PostgreSQL: checkpoint_flush_after = 256kB, bgwriter_flush_after = 512kB, backend_flush_after = 256kB",
    ),
    "Pages that change again soon are written more often.",
    "Writes are even, and reads take as long as between.",
)
"""Linux, Documentation/admin-guide/sysctl/vm.rst: data that has been dirty for longer than `dirty_expire_centisecs`
(3000) is written out next time a flusher thread wakes up, every `dirty_writeback_centisecs` (500); these begin at
`dirty_background_bytes`, and from `dirty_bytes` on the process that writes waits.
"""
_EXPIRED_S = (29.0, 36.0)
"""From one burst to the next of pages that are written when they have been dirty for 30 s: up to 5 s more."""


@dataclass(frozen=True)
class Period:
    """What is said of it, and what to do where it writes as checkpoints do."""

    evidence: Evidence
    remedies: tuple[Remedy, ...]


def comes_back(disk: Device, *, linux: bool = False) -> Period | None:
    """The busy times of a disk, where they come back by the clock; None where they do not.

    Args:
        disk: the disk.
        linux: whether its system is known to be Linux, whose kernel writes back by a clock of its own.
    """
    chosen = busy(disk)
    rows = in_a_row(chosen)
    if len(rows) < _FEWEST:
        return None
    starts = np.array([disk.times_ns[each[0]] for each in rows]) / NS
    pauses = np.diff(starts)
    period, each_s = float(np.median(pauses)), float(np.median([disk.seconds[row].sum() for row in rows]))
    off = np.abs(pauses - period) > max(_EVEN * period, 1.5 * disk.interval_s)
    if off.any() or each_s > _MOST_OF_IT * period:
        return None
    calm = worked(disk) & ~chosen
    many, few = (middle(disk.values("write_iops")[moments]) for moments in (chosen, calm))
    words = f"It comes back every {length(period)}, {len(rows)} times, for {length(each_s)}"
    if not (many >= _MORE * few and many >= _WRITTEN * middle(disk.values("iops")[chosen])):
        return Period(seen(disk, f"{words}, as a job does that runs by the clock.", chosen), ())
    each = middle(disk.values("write_size_bytes")[chosen])
    of = f" of {size(each)}" if each > 0 else ""
    words += f", with {number(many)} writes/s{of} instead of {number(few)}: "
    if not linux:
        return Period(seen(disk, f"{words}checkpoints of a database do that.", chosen), (_CHECKPOINTS,))
    if _EXPIRED_S[0] <= period <= _EXPIRED_S[1]:
        words += (
            "Linux writes back pages that have been dirty for 30 s (vm.dirty_expire_centisecs); checkpoints of a "
            "database look alike."
        )
        return Period(seen(disk, words, chosen), (WRITEBACK, _CHECKPOINTS))
    words += "checkpoints of a database do that, and Linux's writeback of dirty pages (vm.dirty_*)."
    return Period(seen(disk, words, chosen), (_CHECKPOINTS, WRITEBACK))
