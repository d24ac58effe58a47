"""D18: checkpoints write in bursts. No session waits for these writes, but for reads that they slow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import LEAST_SESSIONS, of_storage
from fathom.diagnose.evidence.harm import waiting as by_moment
from fathom.diagnose.evidence.join import above, onto
from fathom.diagnose.evidence.load import FEWEST, middle, worked
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import DISK_COLLECT, VOLUMES, Kind, Need, Rule
from fathom.finding import Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags, Floats
    from fathom.diagnose.evidence.harm import Harm
    from fathom.diagnose.evidence.system import System

_SPREAD = Remedy(
    "Spread checkpoints over time.",
    (
        "ALTER DATABASE x SET TARGET_RECOVERY_TIME = 60 SECONDS",
        "PostgreSQL: checkpoint_completion_target = 0.9, larger max_wal_size",
    ),
    "Recovery after a crash may take longer.",
    "Checkpoint pages/sec is even.",
)


def examine(system: System) -> Iterator[Finding]:
    """Disks whose writes follow the database's checkpoints."""
    servers = _counting(system)
    if not servers:
        return
    disks = [disk for disk in system.disks if disk.has("latency_s")]
    if not disks:
        yield from _by_waits(system, servers[0])
    for disk in disks:
        pages = onto(disk, servers[0], _PAGES)
        waiting = of_storage(system, disk)
        found = (_followed(disk, servers[0], burst, calm, waiting) for burst, calm in _bursts(pages, worked(disk)))
        yield from islice((each for each in found if each is not None), 1)


def _counting(system: System) -> list[Device]:
    """What counts pages of checkpoints: a server, else pg_stat_io of PostgreSQL's checkpointer."""
    counted = [each for each in system.databases if each.has(_PAGES)]
    written = [each for each in system.of(Layer.DATABASE_FILE) if _CHECKPOINTER in (each.device or "").split("/")]
    return counted or [
        replace(each, measured={**each.measured, _PAGES: each.values("write_iops")}, _derived={})
        for each in written
        if each.has("write_iops")
    ]


def _followed(disk: Device, server: Device, burst: Flags, calm: Flags, waiting: Harm) -> Finding | None:
    """What a disk's writes show that follow the checkpoints of some moments; None where they do not."""
    latency, writes = disk.values("write_latency_s"), disk.values("write_iops")
    # A rank correlation would miss bursts that are rare.
    if not (above(writes[burst], writes[calm]) > _OFTEN and _rise(latency, burst, calm) > 1.5):
        return None
    (many, few), (long, short) = _means(writes, burst, calm), _means(latency, burst, calm)
    said = f"{number(many)} writes/s while checkpoints write most pages, {number(few)} otherwise"
    evidence = [seen(disk, f"{said}; write latency {time(long)} and {time(short)}.", burst)]
    slowed = _slowed(disk, server, burst, calm)
    if waiting.sentence and not slowed:
        # Users wait at a latency that does not follow the checkpoints: for something else.
        return None
    harm = None
    if slowed:
        evidence.append(seen(disk, f"{slowed[0].upper()}{slowed[1:]}.", burst))
        harm = waiting.sentence or _fewer(onto(disk, server, "batches_per_s"), burst, calm)
    return Finding(
        "D18",
        disk.name,
        f"Writes to {disk.name} come in bursts of checkpoints; {slowed or _UNFELT}.",
        waiting.severity if waiting.sentence else Severity.WARNING if harm else Severity.NOTE,
        0.7,
        tuple(evidence),
        harm,
        "they take as long without checkpoints"
        if slowed
        else "sessions wait for reads or log writes during the bursts",
        (_SPREAD,),
    )


def _bursts(pages: Floats, at_work: Flags) -> Iterator[tuple[Flags, Flags]]:
    """The moments in which checkpoints write, and the others; where they follow one another, those of the faster ones
    and the others.
    """
    yield pages >= 1, pages < 1
    if (at_work & (pages < 1)).sum() < FEWEST:
        fast = _FAST * middle(pages, 90)
        yield pages >= fast, pages < fast
    # Bursts that are rarer than one moment in ten, over a trickle of other pages.
    rare = _FAST * middle(pages, 98)
    if rare >= _STORM * middle(pages):
        yield pages >= rare, pages < rare


def _slowed(disk: Device, server: Device, burst: Flags, calm: Flags) -> str | None:
    """What sessions wait for longer during checkpoints: reads, or flushes of the log, whoever slows them."""
    read_s, flush_s = disk.values("read_latency_s"), onto(disk, server, "log_flush_latency_s")
    often = _means(disk.values("read_iops"), burst, calm)[1] >= _READS
    felt = {"reads": read_s} if often else {}
    for what, latency in {**felt, "flushes of the log": flush_s}.items():
        if _rise(latency, burst, calm) >= _SLOWED:
            then, before = map(time, _means(latency, burst, calm))
            return f"{what} take {then} meanwhile instead of {before}"
    return None


def _by_waits(system: System, server: Device) -> Iterator[Finding]:
    """Where no disk was recorded: sessions that wait for storage while checkpoints write, and hardly otherwise."""
    pages, sessions = server.values(_PAGES), by_moment(system, server)
    burst, calm = pages >= 1, pages < 1
    many, few = _means(sessions, burst, calm)
    if not (above(sessions[burst], sessions[calm]) > _OFTEN and many >= max(LEAST_SESSIONS, _SLOWED * few)):
        return
    harm = of_storage(system)
    written = number(_means(pages, burst, calm)[0])
    said = (
        f"{number(many)} sessions wait for data and log I/O while {written} pages/s are written, {number(few)} between"
    )
    yield Finding(
        "D18",
        server.name,
        f"Sessions wait for storage while checkpoints write: {number(many)} then, {number(few)} otherwise.",
        harm.severity,
        0.6,
        (seen(server, f"{said}.", burst),),
        harm.sentence,
        "the disks are as slow without checkpoints",
        (_SPREAD,),
    )


_READS, _SLOWED = 1.0, 2.0
"""Reads per second, and times as long as they take during checkpoints, or as many sessions wait, from which users feel
them.
"""
_UNFELT = "sessions do not wait for them, so their latency is not the users'"
_PAGES, _CHECKPOINTER = "checkpoint_pages_per_s", "checkpointer"
_STORM = 8.0
"""Times the usual pages that a burst over a trickle writes."""
_FAST = 2 / 3
"""Part of the usual high of pages from which on checkpoints that follow each other are fast."""
_OFTEN = 0.6
"""How surely there are more during checkpoints (`join.above`)."""
_FEWER = 0.8
"""Share of the usual batches that are done during checkpoints, below which that is harm."""


def _means(values: Floats, burst: Flags, calm: Flags) -> tuple[float, float]:
    """The means in the bursts and between; NaN where nothing is known."""
    known = (each[np.isfinite(each)] for each in (values[burst], values[calm]))
    high, low = (float(each.mean()) if len(each) else float("nan") for each in known)
    return high, low


def _rise(values: Floats, burst: Flags, calm: Flags) -> float:
    """How many times as high a mean is in the bursts; 0 where either is unknown."""
    high, low = _means(values, burst, calm)
    return float(np.divide(high, low)) if np.isfinite(high) and np.isfinite(low) else 0.0


def _fewer(batches: Floats, burst: Flags, calm: Flags) -> str | None:
    """What users lose; None where the log does not tell."""
    part = _rise(batches, burst, calm)
    if not 0 < part < _FEWER:
        return None
    then, before = map(number, _means(batches, burst, calm))
    return f"{then} batches/s while checkpoints write, {before} otherwise"


@dataclass(frozen=True)
class _Counted(Need):
    """Met by PostgreSQL's pg_stat_io, too, which counts the checkpointer's writes among those of others."""

    def met(self, system: System) -> bool:
        return bool(_counting(system))


RULE = Rule(
    "D18",
    "checkpoint bursts",
    Kind.LOAD,
    (
        Need(
            (*VOLUMES, Layer.DATABASE_WAIT),
            ("latency_s", "wait_s_per_s", "active_sessions"),
            f"{DISK_COLLECT}; or the database's waits (fathom record --print sqlserver or postgresql)",
        ),
        _Counted((Layer.DATABASE,), (_PAGES,), "perfmon SQLServer:Buffer Manager\\Checkpoint pages/sec"),
    ),
    examine,
)
