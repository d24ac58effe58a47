"""D25: storage is not the bottleneck: latency within what its kind should keep, no queue, or the wait is elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.discards import slowed_by_discards
from fathom.diagnose.evidence.elsewhere import (
    grants,
    locks,
    page_latches,
    processors,
    runnable,
    stolen,
    swapped,
    swapped_by_host,
)
from fathom.diagnose.evidence.harm import LEAST_SESSIONS, has_waits, of_storage, of_waits, sessions
from fathom.diagnose.evidence.hung import hung
from fathom.diagnose.evidence.load import FEWEST, IDLE_LOAD, middle, worked
from fathom.diagnose.evidence.missing import cut_off, may_hide, unread
from fathom.diagnose.evidence.rare import is_rare
from fathom.diagnose.evidence.reported import hidden, unseen
from fathom.diagnose.evidence.slow_time import lasting, of_the_time, slow_time
from fathom.diagnose.evidence.starved import starved
from fathom.diagnose.evidence.strained import beside_processors, saturated
from fathom.diagnose.evidence.surroundings import is_stacked
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.usual import LITTLE, STORAGE, is_usual
from fathom.diagnose.evidence.words import number, seen, share, time
from fathom.diagnose.rule import PATH_RATE_OR_QUEUE, Kind, Rule
from fathom.finding import Evidence, Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.elsewhere import Elsewhere
    from fathom.diagnose.evidence.system import System


_MINOR = 0.25
"""Part of all waiting below which storage is not what to begin with, where most sessions wait for one other thing."""
_MUCH = 0.1
"""Part of the busiest disk's rate from which a disk may be what users wait for."""
_UNSEEN = 0.6
"""How sure it is at most where a disk's samples are missing, or do not show what the server reports."""
_SELDOM = 0.05
"""Share of moments with a request outstanding below which a disk is hardly used."""


def examine(system: System) -> Iterator[Finding]:
    """One finding on all disks together, or none."""
    each = [(disk, _judged(system, disk)) for disk in system.nearest]
    judged = [found for _, found in each if found is not None]
    # Disks that did nothing clear no disk that did something unknown.
    worked_at = [found for disk, found in each if not disk.has("iops") or worked(disk).any()]
    if worked_at and all(found is None for found in worked_at):
        return
    full, both = processors(system), beside_processors(system)
    known = bool(judged) and not _unknown_matters(each) and not unread(system) and not cut_off(system)
    fast = known and all(found.fine for found in judged) and not saturated(system)
    evidence = [found.said for found in judged if found.said is not None] or [
        seen(disk, f"{disk.name} completed no request.") for disk, found in each if found is not None
    ]
    then = [found.starved for found in judged if found.starved is not None] if full is None else []
    lost = None if full is not None or then else stolen(system)
    most = [found for found in (locks(system), page_latches(system), grants(system)) if found is not None]
    ready = runnable(system) if full is None and lost is None and not then else None
    where = [found for found in (full, *then[:1], ready, *most, lost) if found is not None]
    # Where the disks are slow, only waits that are elsewhere can clear them; of disks that keep few requests waiting,
    # and not for long, processors with no time left as well.
    slow = [system.beside(disk) for disk, found in each if found is not None and not found.fine]
    by_processors = known and full is not None and both is None and all(processors(then) is not None for then in slow)
    by_waits = (
        bool(judged) and all(map(has_waits, slow or [system])) and any(f is not full and f is not ready for f in where)
    )
    cleared = (fast or by_processors or by_waits) and not unseen(system)
    waiting = of_storage(system).sentence or of_waits(system, "file growth").sentence
    minor = waiting is not None and bool(most) and _is_minor(system)
    usual = waiting is not None and fast and is_usual(system)
    # Sessions wait for disks as well while their machine does not run.
    if not cleared or (waiting and not then and not minor and not usual):
        return
    timed = any(disk.has("latency_s") for disk in system.nearest)
    # Sessions of another time than a disk's confirm nothing of it.
    confirmed = has_waits(system) and all(has_waits(system.beside(disk)) for disk, _ in each)
    sure = 0.9 if where and judged else 0.75 if where else (0.85 if confirmed else (0.75 if timed else 0.6))
    sure = min(sure, 0.75) if then or minor or usual else sure
    if any(may_hide(disk) is not None for disk in system.nearest) or hidden(system):
        # Something else is what to begin with; of the storage it is not known.
        sure = min(sure, _UNSEEN)
    # Little memory is named, and clears no disk.
    where += [found for found in (swapped(system), swapped_by_host(system)) if found is not None]
    reason = f": {', and '.join(found.what for found in where)}" if where else ""
    said: list[Evidence] = [found.evidence for found in where]
    if minor:
        said.append(Evidence(f"{waiting}."))
    elif usual:
        said.append(Evidence(f"{waiting}: no more than wait for so many requests of so short a latency."))
    elif confirmed and not waiting:
        mean = sessions(system, *STORAGE)
        limit = f"below the {LEAST_SESSIONS} from which they matter" if mean < LEAST_SESSIONS else "a small part of all"
        said.append(Evidence(f"{number(mean)} sessions wait for storage on average, {limit}."))
    yield Finding(
        "D25", "storage", f"Storage is not your bottleneck{reason}.", Severity.GOOD,
        sure, (*said, *evidence[:6]), None,
        "sessions that wait for reads or log writes in the time in question, or bursts shorter than the log's interval",
        tuple(found.remedy for found in where),
    )  # fmt: skip


def _unknown_matters(each: Sequence[tuple[Device, _Judged | None]]) -> bool:
    """Whether the log does not say how a disk fares that has much of the work: the others then clear nobody."""
    rates = {disk.name: float(np.nan_to_num(disk.mean("iops"))) if disk.has("iops") else 0.0 for disk, _ in each}
    busiest = max(rates.values(), default=0.0)
    # What only passes requests on is known by the disks below it.
    known = {disk.host for disk, found in each if found is not None and not is_stacked(disk.device)}
    unknown = [
        disk for disk, found in each
        if found is None and rates[disk.name] > 0 and not (is_stacked(disk.device) and disk.host in known)
    ]  # fmt: skip
    return any(rates[disk.name] >= _MUCH * busiest for disk in unknown)


def _is_minor(system: System) -> bool:
    """Whether few of the sessions that wait do so for storage."""
    return sessions(system, *STORAGE) < _MINOR * sessions(system)


@dataclass(frozen=True)
class _Judged:
    """Whether a disk keeps nobody waiting, what shows it, and what else makes it slow at times."""

    fine: bool
    said: Evidence | None = None
    starved: Elsewhere | None = None


def _judged(system: System, disk: Device) -> _Judged | None:
    """The judgement of a disk; None where the log does not say."""
    if not disk.has("iops"):
        return _by_queue(disk)
    latency, at_work, lost = disk.values("latency_s"), worked(disk), may_hide(disk)
    if lost is not None:
        words = f"{lost.sum():,} of {len(lost):,} intervals of {disk.name} have no sample."
        return _Judged(fine=False, said=seen(disk, words, lost))
    known = at_work & np.isfinite(latency)
    # Moments without any request count: a disk that did nothing kept nobody waiting.
    if at_work.sum() > 2 * known.sum() or known.sum() + (disk.values("iops") == 0).sum() < FEWEST:
        return None
    if not known.any():
        return _Judged(fine=True)
    tier, slow = tier_of(system, disk), slow_time(system, disk)
    machine = starved(system, disk, slow) if slow.any() else None
    rest = known if machine is None else known & ~slow
    if machine is not None and not rest.any():
        return _always_starved(system, disk, machine, known)
    high = _weighted_high(latency[rest], disk.weights("latency_s")[rest])
    # The log's own queue counts as well: a rate in the wrong unit makes any disk look idle.
    mean = max(disk.mean("iops") * disk.mean("latency_s"), float(np.nan_to_num(disk.load).mean()))
    # A disk that is hardly ever used keeps nobody waiting for long, however slow it is.
    used = mean >= LITTLE or (mean >= 0.05 and _often(disk) > _SELDOM)
    otherwise = "" if machine is None else " otherwise"
    kind, target = tier.name, time(tier.target_s)
    slower = high > tier.target_s
    kept = f", longer than the {target} that a {kind} should keep" if slower else f"; a {kind} should keep {target}"
    # iostat rounds to 0.01 ms, vSphere to 1 ms.
    most = f"at most {time(high)}" if high > 0 else "a latency that the log rounds to zero"
    words = f"On {disk.name}, 95 % of requests come{otherwise} from moments with {most}{kept}"
    # The slower a disk is, the fewer of its requests count.
    slow_for_long = (slower and used) or (machine is None and lasting(system, disk) is not None)
    fine = not slow_for_long or is_rare(system, disk)
    seldom = f"in {of_the_time(disk, at_work)}" if slow_for_long else f"{number(mean)} outstanding on average"
    idle = f", but it is hardly used: {seldom}" if slower and fine else ""
    fine = fine and not hung(system, disk).any() and slowed_by_discards(disk) is None
    return _Judged(fine, seen(disk, f"{words}{idle}.", rest), machine)


def _always_starved(system: System, disk: Device, machine: Elsewhere, known: Flags) -> _Judged:
    """The judgement of a disk that its machine makes slow as long as it works: no moment tells its own latency."""
    latency = middle(disk.values("latency_s")[known])
    fine = not hung(system, disk).any() and slowed_by_discards(disk) is None
    return _Judged(fine, seen(disk, f"{disk.name} takes {time(latency)} whenever it works.", known), machine)


def _by_queue(disk: Device) -> _Judged | None:
    """By the queue alone, which Little's law makes the time that all requests together waited per second."""
    known = np.isfinite(disk.load)
    if known.sum() < FEWEST:
        return None
    mean, often = float(np.mean(disk.load[known])), _often(disk)
    words = (
        f"{disk.name}: {number(mean)} requests outstanding on average, one or more in {share(often)} of the moments."
    )
    return _Judged(mean < LITTLE and often <= _SELDOM, seen(disk, words, known))


def _often(disk: Device) -> float:
    """The share of moments with a request outstanding."""
    return float((np.nan_to_num(disk.load) >= IDLE_LOAD).mean())


def _weighted_high(latency: np.ndarray, weights: np.ndarray) -> float:
    """The latency that the moments of 95 % of all requests do not exceed."""
    order = np.argsort(latency)
    total = np.cumsum(weights[order])
    if not total[-1] > 0:
        return float(np.percentile(latency, 95))
    return float(latency[order][np.searchsorted(total, 0.95 * total[-1])])


RULE = Rule("D25", "storage is not the bottleneck", Kind.ELSEWHERE, (PATH_RATE_OR_QUEUE,), examine)
