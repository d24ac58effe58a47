"""Commits that wait for flushes of the log, as the database counts them or as the disk does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import has_waits, of_waits
from fathom.diagnose.evidence.words import number, seen, share, size, time

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System
    from fathom.finding import Evidence

_BUSY = 0.5
"""Share of time from which a stream of flushes is what a session does: rate × latency of the flushes."""
_SMALL = 8192.0
_MANY_PER_S = 1000.0
SLOW_S = 0.01
"""A flush that takes as long waits for a medium: a turning disk, or flash without protection from power loss."""


@dataclass(frozen=True)
class Commits:
    """What was found, on what, how long one commit's writing and flushing takes (NaN where that is not known), and
    whether it is of few bytes.
    """

    subject: str
    evidence: tuple[Evidence, ...]
    each_s: float
    small: bool = True

    @property
    def slow(self) -> bool:
        """Whether it is each flush that is long, not their number that is high."""
        return self.each_s >= SLOW_S


def by_database(system: System) -> Commits | None:
    """Many flushes of few bytes for which sessions wait, or flushes that the log does all the time."""
    for server in system.databases:
        flushes, written = server.mean("log_flushes_per_s"), server.mean("log_bytes_per_s")
        waited = server.mean("log_flush_wait_s_per_s")
        mean = written / flushes if flushes > 0 else float("nan")
        known = of_waits(system, "log").sentence is not None if has_waits(system) else waited >= _BUSY
        each = server.mean("log_flush_latency_s")
        if known and flushes * each >= _BUSY:
            # The log is at it all the time, however many commits share a flush.
            said = f"{number(flushes)} log flushes/s of {size(mean)}, {time(each)} each: "
            said += f"{share(min(flushes * each, 1))} of the time."
            return Commits(server.name, (seen(server, said),), each, small=mean < _SMALL)
        if not (flushes >= 50 and mean < _SMALL and known):
            continue
        # Fewer flushes than many are enough where each takes long: the sessions' waiting is the proof.
        if flushes < _MANY_PER_S and not has_waits(system) and not waited >= _BUSY:
            continue
        said = f"{number(flushes)} log flushes/s of {size(mean)} each"
        said += f"; sessions wait {number(waited)} s for them every second." if waited > 0 else "."
        return Commits(server.name, (seen(server, said),), each)
    return None


def by_device(system: System) -> Commits | None:
    """A disk that does little but flush, one request at a time."""
    for disk in system.disks:
        flushes = disk.mean("flush_iops")
        each = np.nansum([disk.mean("flush_latency_s"), disk.mean("write_latency_s")])
        load = float(np.nanmean(disk.load)) if np.isfinite(disk.load).any() else float("nan")
        small = disk.mean("write_size_bytes") <= 4 * _SMALL and disk.mean("read_iops") < 0.3 * disk.mean("write_iops")
        part = flushes * each
        if flushes >= 20 and part >= _BUSY and small and load <= 4:
            words = (
                f"{number(flushes)} flushes/s, {time(float(each))} for a write and its flush: {share(min(part, 1))} "
            )
            said = seen(disk, f"{words}of the time, with {number(load)} outstanding.")
            return Commits(disk.name, (said,), float(each))
    return None
