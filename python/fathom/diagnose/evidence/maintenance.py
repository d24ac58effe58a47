"""Maintenance that a database reports itself: a backup, a consistency check; and whether latency follows it.

Users who wait are no reason to doubt maintenance as the load, they are who it harms; but only where requests take
longer while it runs than otherwise. Where they do not, users wait for something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import CLASSES, NONE, Harm, of_waits, sessions
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.words import megabytes, number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.windows import TOTAL
from fathom.finding import Evidence

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_LEAST_BYTES_PER_S = 1e6
_LEAST_MOMENTS = 3
_LEAST_SESSIONS = 0.5
_WAITED = 0.1
"""Sessions in a wait from which the maintenance runs in a moment."""
_SLOWER = 1.5
"""How many times as long requests take while the maintenance runs, from which it is what makes them slow."""
_OUTSIDE = 0.05
"""Moments outside of the maintenance, as a share of those within, below which the log does not know any."""


@dataclass(frozen=True)
class Maintenance:
    """What shows it, what users lose by it, and whether requests take longer meanwhile."""

    evidence: tuple[Evidence, ...]
    harm: Harm
    slows: bool = False


def reported(system: System, metric: str, what: str, waits: str) -> Maintenance | None:
    """What databases say of it: their throughput, and sessions that wait in it. None where they say nothing, and where
    users wait although latency does not depend on it.

    Args:
        system: all logs.
        metric: throughput of the maintenance, bytes per second.
        what: its name, beginning a sentence.
        waits: the class of its waits (`harm.CLASSES`).
    """
    running = [
        (each, each.values(metric) > _LEAST_BYTES_PER_S)
        for each in system.databases
        if (each.values(metric) > _LEAST_BYTES_PER_S).sum() >= _LEAST_MOMENTS
    ]
    named = [(each, chosen) for each, chosen in running if not (each.device or "").endswith(TOTAL)]
    running = named or running
    found = [
        seen(each, f"{what} of {each.name}: {megabytes(each.mean(metric, chosen))}.", chosen)
        for each, chosen in running
    ]
    waiting = sessions(system, waits)
    if waiting >= _LEAST_SESSIONS:
        found.append(Evidence(f"{what}: {number(waiting)} sessions wait in it."))
    if not found:
        return None
    harm = of_waits(system, "log", "data")
    slower = _slowest(system, [each for each, _ in running], metric, waits)
    if slower is None:
        return None if harm.sentence else Maintenance(tuple(found), NONE)
    return Maintenance((found[0], slower, *found[1:]), harm, slows=True)


def slower(disk: Device, ran: Flags, rest: Flags) -> Evidence | None:
    """That requests take longer in some moments than in others, or that the log knows no others; None if neither."""
    latency = disk.values("latency_s")
    ran, rest = ran & np.isfinite(latency), rest & np.isfinite(latency)
    if ran.sum() < _LEAST_MOMENTS:
        return None
    then, otherwise = disk.mean("latency_s", ran), disk.mean("latency_s", rest)
    if rest.sum() < max(_LEAST_MOMENTS, _OUTSIDE * ran.sum()):
        return seen(disk, f"Requests to {disk.name} take {time(then)} then; the log holds no other time.", ran)
    if not then >= _SLOWER * otherwise:
        return None
    return seen(disk, f"Requests to {disk.name} take {time(then)} then, {time(otherwise)} otherwise.", ran)


def _slowest(system: System, running: list[Device], metric: str, waits: str) -> Evidence | None:
    """Of the disks that are slower while the maintenance runs, what is said of the one with most requests waiting."""
    found: list[tuple[float, Evidence]] = []
    for disk in system.nearest:
        ran, known = _by_counter(disk, running, metric) if running else _by_waits(system, disk, waits)
        said = slower(disk, ran, known & ~ran)
        if said is not None:
            found.append((float(np.nan_to_num(disk.load[ran]).mean()), said))
    return max(found, key=lambda each: each[0])[1] if found else None


def _by_counter(disk: Device, running: list[Device], metric: str) -> tuple[Flags, Flags]:
    """The disk's moments in which it ran, and those of which that is known."""
    rates = [onto(disk, each, metric) for each in running]
    return np.any([each > _LEAST_BYTES_PER_S for each in rates], axis=0), np.any(
        [np.isfinite(r) for r in rates], axis=0
    )


def _by_waits(system: System, disk: Device, waits: str) -> tuple[Flags, Flags]:
    """As `_by_counter`. A wait that is absent from a look at the sessions had none in it."""
    looks = system.of(Layer.DATABASE_WAIT)
    ran = np.zeros(len(disk.times_ns), dtype=bool)
    for each in looks:
        if CLASSES[waits].match((each.device or "").rpartition("/")[2]):
            ran |= onto(disk, each, "wait_s_per_s" if each.has("wait_s_per_s") else "active_sessions") > _WAITED
    times = np.concatenate([each.times_ns for each in looks])
    return ran, (disk.times_ns >= times.min()) & (disk.times_ns <= times.max())
