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


_QUEUE = 8.0
"""Requests outstanding from which one waits for the transfer of others, not for its own."""


def examine(system: System) -> Iterator[Finding]:
    """Every disk."""
    for disk in system.disks:
        chosen = busy(disk) & (disk.values("size_bytes") >= LARGE_BYTES)
        split = disk.mean("split_iops")
        if chosen.sum() < max(FEWEST, 0.5 * busy(disk).sum()):
            continue
        bytes_each, moved, queued = (
            middle(values[chosen]) for values in (disk.values("size_bytes"), disk.values("bytes_per_s"), disk.load)
        )
        latency, alone = middle(disk.values("latency_s")[chosen]), bytes_each / moved
        many = f", {number(queued)} at once: latency is their" if queued >= _QUEUE else ": latency is"
        yield Finding(
            "D14",
            disk.name,
            f"{disk.name} moves {size(bytes_each)} per request{many} transfer time, so judge by MB/s.",
            Severity.NOTE,
            0.55,
            (
                seen(
                    disk,
                    f"{megabytes(moved)} at {time(latency)}, {number(queued)} outstanding; "
                    f"one alone takes {time(alone)} at that rate"
                    + (f"; {number(split)} requests/s are split." if split > 0 else "."),
                    chosen,
                ),
            ),
            None,
            "small requests at the same time are slow, too",
            tuple(_remedies(system, split=split, queued=queued)),
        )


def _remedies(system: System, *, split: float, queued: float) -> Iterator[Remedy]:
    """What to change: the size of requests where they are split, or may be, and how many there are at once."""
    if queued >= _QUEUE:
        yield Remedy(
            "Send fewer of them at once: the same MB/s at less latency, also for the small requests between them.",
            (),
            "A volume of several disks needs some at once for its full rate.",
            "MB/s stay while the latency falls.",
        )
    # Of one that was recorded as never split there is nothing to change.
    if split != 0:
        yield Remedy(
            "If requests are split, send smaller ones."
            if VMWARE in system.ruled_out
            else "If requests are split (PVSCSI above 512 KiB), send smaller ones.",
            ("BACKUP DATABASE x TO DISK = '...' WITH MAXTRANSFERSIZE = 524288",),
            "Backups may take longer elsewhere.",
            "Split IO/Sec is 0.",
        )


RULE = Rule("D14", "very large requests", Kind.LOAD, (RATE, LATENCY), examine)
