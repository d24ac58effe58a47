"""Maintenance that a database reports itself: a backup, a consistency check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.diagnose.evidence.harm import sessions
from fathom.diagnose.evidence.words import megabytes, number, seen
from fathom.finding import Evidence

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System

_LEAST_BYTES_PER_S = 1e6
_LEAST_MOMENTS = 3
_LEAST_SESSIONS = 0.5


def reported(system: System, metric: str, what: str, waits: str) -> list[Evidence]:
    """What databases say of it: their throughput, and sessions that wait in it.

    Args:
        system: all logs.
        metric: throughput of the maintenance, bytes per second.
        what: its name, beginning a sentence.
        waits: the class of its waits (`harm.CLASSES`).
    """
    found = [
        seen(each, f"{what} of {each.name}: {megabytes(each.mean(metric))}.", each.values(metric) > 0)
        for each in system.databases
        if (each.values(metric) > _LEAST_BYTES_PER_S).sum() >= _LEAST_MOMENTS
    ]
    waiting = sessions(system, waits)
    if waiting >= _LEAST_SESSIONS:
        found.append(Evidence(f"{what}: {number(waiting)} sessions wait in it."))
    return found
