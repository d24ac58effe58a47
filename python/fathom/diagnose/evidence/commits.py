"""Commits that wait for flushes of the log, as the database counts them or as the disk does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fathom.diagnose.evidence.device import average
from fathom.diagnose.evidence.harm import has_waits, of_waits
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import FEWEST, middle, scatter
from fathom.diagnose.evidence.words import beside, number, seen, share, size, time

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System
    from fathom.finding import Evidence

_BUSY = 0.5
"""Share of time from which a stream of flushes is what a session does: rate × latency of the flushes."""
_FEWEST_LOOKS = 4
"""Looks at a database from which its flushes are compared."""
_SMALL = 8192.0
_MANY_PER_S = 1000.0
SLOW_S = 0.01
"""A flush that takes as long waits for a medium: a turning disk, or flash without protection from power loss."""
_FEWEST_PER_S, _FEWEST_LONG_PER_S = 20.0, 5.0
"""Flushes of a disk per second from which they are a stream of commits; fewer where each takes long."""
_ALONE = 4.0
"""Requests outstanding up to which a stream of flushes has a disk for itself."""
_TURN_S = 0.015
"""More than one turn of any disk takes."""
_LEVEL = 0.03
"""Scatter of a rate of writes up to which it is level, as at a limit."""
_CARRIES, _BELOW = 0.5, 0.5
"""Part of a database's flushes that reach the disk of its log, and part of a flush's time up to which little is the
disk's.
"""
_LATER, _OTHERS = 2.0, 2.0
"""Times as long as otherwise that a flush takes while a disk is full, and as many bytes as the log's that it then
moves.
"""


class Below(NamedTuple):
    """A disk, and how long it takes for the write and the flush of one commit."""

    disk: Device
    takes_s: float


@dataclass(frozen=True)
class Commits:
    """Commits that wait for flushes.

    Attributes:
        device: what they were found on: a server, or a disk.
        evidence: what shows it.
        each_s: how long one commit's writing and flushing takes; NaN where that is not known.
        small: whether it is of few bytes.
        held: whether the writes take the time and keep to one rate, as at a limit on them.
        calm_s: how long it takes while little else is outstanding, where other writes fill a disk at other times.
        below: the disk that these flushes reach and its own time for one, where most of the time is spent above it.
    """

    device: Device
    evidence: tuple[Evidence, ...]
    each_s: float
    small: bool = True
    held: bool = False
    calm_s: float | None = None
    below: Below | None = None

    @property
    def slow(self) -> bool:
        """Whether it is each flush that is long, not their number that is high."""
        return self.each_s >= SLOW_S


def found(system: System) -> Commits | None:
    """As the database counts its flushes, else as the disk does."""
    return _by_database(system) or _by_device(system)


def _by_database(system: System) -> Commits | None:
    """Many flushes of few bytes for which sessions wait, or flushes that the log does all the time."""
    for server in system.databases:
        flushes, written = server.mean("log_flushes_per_s"), server.mean("log_bytes_per_s")
        waited = server.mean("log_flush_wait_s_per_s")
        mean = written / flushes if flushes > 0 else float("nan")
        then = system.beside(server)
        known = of_waits(then, "log").sentence is not None if has_waits(then) else waited >= _BUSY
        each = server.mean("log_flush_latency_s")
        if known and flushes * each >= _BUSY:
            # The log is at it all the time, however many commits share a flush.
            said = f"{number(flushes)} log flushes/s of {size(mean)}, {time(each)} each: "
            said += f"{share(min(flushes * each, 1))} of the time."
            return _beside_others(system, server, Commits(server, (seen(server, said),), each, mean < _SMALL))
        if not (flushes >= 50 and mean < _SMALL and known):
            continue
        # Fewer flushes than many are enough where each takes long: the sessions' waiting is the proof.
        if flushes < _MANY_PER_S and not has_waits(then) and not waited >= _BUSY:
            continue
        said = f"{number(flushes)} log flushes/s of {size(mean)} each"
        said += f"; sessions wait {number(waited)} s for them every second." if waited > 0 else "."
        return _beside_others(system, server, Commits(server, (seen(server, said),), each))
    return None


def _beside_others(system: System, server: Device, commits: Commits) -> Commits:
    """What the disks say of a database's flushes: whether other writes fill one of them, or it holds them back."""
    calm = [each for disk in system.disks if (each := _while_filled(disk, server)) is not None]
    held = commits.slow and any(_is_held(disk, _flushed(disk)) for disk in system.disks)
    below = _reached(system, server) if np.isfinite(commits.each_s) else None
    if below is None or below.takes_s > _BELOW * commits.each_s:
        return replace(commits, held=held, calm_s=min(calm, default=None))
    took = f"{below.disk.name}: {time(below.takes_s)} for a write and its flush in the same time."
    evidence = (*commits.evidence, beside(server, below.disk, took, server.values("log_flushes_per_s") > 0))
    return replace(commits, evidence=evidence, held=held, calm_s=min(calm, default=None), below=below)


def _reached(system: System, server: Device) -> Below | None:
    """The slowest of the disks that a database's flushes reach, by their number; None where no log counts a disk's."""
    found = []
    for disk in system.disks:
        rate, flushed = onto(server, disk, "flush_iops"), server.values("log_flushes_per_s")
        known = np.isfinite(rate) & (flushed > 0)
        weights = np.where(known, rate, 0.0) * server.seconds
        takes = sum(average(onto(server, disk, f"{way}_latency_s"), weights) for way in ("write", "flush"))
        if known.any() and middle(rate[known]) >= _CARRIES * middle(flushed[known]) and takes > 0:
            found.append(Below(disk, takes))
    return max(found, key=lambda each: each.takes_s, default=None)


def _while_filled(disk: Device, server: Device) -> float | None:
    """How long a flush takes while little is outstanding on a disk, where it takes far longer, or none ends, while the
    disk is full of more than the log; None where it does not.
    """
    load, moved = (onto(server, disk, metric) for metric in ("outstanding_mean", "bytes_per_s"))
    low, high = middle(load[load > 0], 100 / 3), middle(load[load > 0], 200 / 3)
    calm, full = (load > 0) & (load <= low), load >= max(high, _ALONE)
    others = middle(moved[full]) >= _OTHERS * server.mean("log_bytes_per_s", full)
    if min(calm.sum(), full.sum()) < _FEWEST_LOOKS or high < _LATER * low or not others:
        return None
    before, then = (server.mean("log_flush_latency_s", each) for each in (calm, full))
    stopped = not server.mean("log_flushes_per_s", full) * _LATER > server.mean("log_flushes_per_s", calm)
    longer = then >= _LATER * before or (stopped and not np.isfinite(then))
    return before if longer else None


def _by_device(system: System) -> Commits | None:
    """A disk that does little but flush, one request at a time."""
    for disk in system.disks:
        chosen = _flushed(disk)
        # Medians: a stall lets a single commit wait. Reads are others' and may be many; commits are writes and flushes.
        flushes, load = middle(disk.values("flush_iops")[chosen]), middle(disk.load[chosen])
        each = np.nansum([middle(disk.values(f"{way}_latency_s")[chosen]) for way in ("flush", "write")])
        often = flushes >= (_FEWEST_LONG_PER_S if each >= SLOW_S else _FEWEST_PER_S)
        small = disk.mean("write_size_bytes", chosen) <= 4 * _SMALL
        part = flushes * each
        if chosen.sum() >= FEWEST and often and part >= _BUSY and small and load <= _ALONE:
            words = (
                f"{number(flushes)} flushes/s, {time(float(each))} for a write and its flush: {share(min(part, 1))} "
            )
            said = seen(disk, f"{words}of the time, with {number(load)} outstanding.", chosen)
            return Commits(disk, (said,), float(each), held=_is_held(disk, chosen))
    return None


def _flushed(disk: Device) -> Flags:
    """The moments with flushes."""
    return np.nan_to_num(disk.values("flush_iops")) > 0


def _is_held(disk: Device, chosen: Flags) -> bool:
    """Whether writes wait for long at a rate that never moves, and the flushes after them do not: no medium is slow."""
    if chosen.sum() < FEWEST:
        return False
    ways = (middle(disk.values(f"{way}_latency_s")[chosen]) for way in ("write", "flush", "read"))
    write_s, flush_s, read_s = ways
    # A turning disk that writes once in a turn has a level rate as well.
    waits = write_s > _TURN_S or (write_s >= SLOW_S and read_s < write_s / 2)
    return bool(waits and write_s > flush_s and scatter(disk.values("write_iops")[chosen]) <= _LEVEL)
