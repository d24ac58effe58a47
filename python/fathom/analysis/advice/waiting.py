"""What sessions of a database do while a variant runs: compute, wait for storage, for locks, or for something else.

Where it is known it decides what storage has to do with a result. A disk's own figures do not: others may use it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fathom.analysis.advice.rule import RuleInput
from fathom.analysis.variants import of_variant, resolved
from fathom.analysis.words import listed
from fathom.results import Level, Run

_STORAGE = re.compile(
    r"IO |LWLock (WAL|BufferIO)|IPC BufferIO|PAGEIOLATCH|IO_COMPLETION|ASYNC_IO_COMPLETION|WRITELOG|LOGBUFFER"
)
"""Waits for storage, as PostgreSQL and SQL Server call them."""

_LOCKS = re.compile(r"Lock |LWLock |LCK_|PAGELATCH|LATCH_")
"""Waits for what another session holds, as they call them."""

_IDLE = re.compile(r"Client |Activity |ASYNC_NETWORK_IO|Writing to net|Reading from net|Sending to client|Waiting for ")
"""Sessions that the client keeps waiting, and of MariaDB and MySQL those that wait for locks: no storage is at work."""

_COMPUTING = ("CPU", "SOS_SCHEDULER_YIELD")

_NAMED = ("postgresql", "sqlserver")
"""Databases whose waits tell whether a session waits for storage; the states of the others do not."""

_PART = 0.15
"""Of the sessions at work, from which on waits for storage matter."""

_MOST = 0.5
"""Of the sessions that no lock holds, from which on storage decides what they do."""

_FEW = 0.05
"""Of the sessions at work, below which a reason is not told."""


@dataclass(frozen=True)
class Waits:
    """Mean number of sessions at work over all runs of a variant, by what they do."""

    computing: float
    storage: float
    locks: float
    rest: float

    @property
    def every(self) -> float:
        """Sessions at work."""
        return self.computing + self.storage + self.locks + self.rest

    @property
    def storage_decides(self) -> bool:
        """Whether most sessions that no other one holds up wait for storage: a lock lasts as its holder does."""
        return self.storage > 0 and self.storage >= _MOST * (self.every - self.locks)

    @property
    def storage_matters(self) -> bool:
        """Whether a part of the sessions worth telling waits for storage."""
        return self.storage >= _PART * self.every

    @property
    def words(self) -> str:
        """`of 3.5 sessions at work 1.6 compute, 1.8 wait for locks, hardly any for storage`."""
        waiting = sorted(((self.locks, "locks"), (self.storage, "storage")), key=lambda one: -one[0])
        (most, first), (least, second) = [(_count(count, self.every), what) for count, what in waiting]
        computing = _count(self.computing, self.every)
        at_work = f"of {self.every:.2g} sessions at work {computing} compute"
        return f"{at_work}, {most} wait for {first}, {least} for {second}"

    @property
    def reasons(self) -> str:
        """What keeps sessions beside storage, the most first: `locks and processors`."""
        found = ((self.locks, "locks"), (self.computing, "processors"), (self.rest, "other things"))
        return listed([what for count, what in sorted(found, reverse=True) if count >= _PART * self.every])


def waits(given: RuleInput, variant: Mapping[str, Level]) -> Waits | None:
    """What sessions did; None where that is not known: nothing was sampled, or the states do not tell."""
    names = [name for name, settings in _databases(given, variant).items() if settings.get("kind") in _NAMED]
    runs = _sampled(given, variant)
    sampled = [found for run in runs if any(found := [run.waits.get(name, {}) for name in names])]
    sums = {"computing": 0.0, "storage": 0.0, "locks": 0.0, "rest": 0.0}
    for found in sampled:
        for events in found:
            for event, sessions in events.items():
                if (kind := _kind(event)) is not None:
                    sums[kind] += sessions / len(sampled)
    return Waits(**sums) if any(sums.values()) else None


def at_work(given: RuleInput, variant: Mapping[str, Level]) -> float | None:
    """Mean number of sessions that may be waiting for storage, of any database; None where nothing was sampled."""
    runs = _sampled(given, variant)
    sampled = [events for run in runs if any(events := list(run.waits.values()))]
    if not sampled:
        return None
    at = sum(n for events in sampled for each in events for event, n in each.items() if not _IDLE.match(event))
    return at / len(sampled)


def without_storage(given: RuleInput, variant: Mapping[str, Level]) -> Waits | None:
    """What sessions did where storage has no part in it worth telling: faster storage changes nothing then."""
    found = waits(given, variant)
    return found if found is not None and not found.storage_matters else None


def _sampled(given: RuleInput, variant: Mapping[str, Level]) -> list[Run]:
    """Finished runs whose waits are their own: those of a level of a sequence are of the whole sequence."""
    return [run for run in of_variant(given.campaign.runs, variant) if run.ok and not run.of_level]


def _databases(given: RuleInput, variant: Mapping[str, Level]) -> Mapping[str, Mapping[str, object]]:
    wanted: Mapping[str, Mapping[str, object]] = resolved(given.study, variant).get("wants", {}).get("databases", {})
    return wanted


def _kind(event: str) -> str | None:
    """Which of the sums of `Waits` a wait belongs to; None for a session that does nothing."""
    if _IDLE.match(event):
        return None
    if event in _COMPUTING:
        return "computing"
    if _STORAGE.match(event):
        return "storage"
    return "locks" if _LOCKS.match(event) else "rest"


def _count(count: float, every: float) -> str:
    return "hardly any" if count < _FEW * every else f"{count:.2g}"
