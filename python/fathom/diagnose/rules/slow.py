"""L2: a volume is slow, and the logs show no more of it than the layer that the time is in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.below import located, to_record
from fathom.diagnose.evidence.figures import figures
from fathom.diagnose.evidence.files import without_disk
from fathom.diagnose.evidence.harm import LEAST_SESSIONS, of_storage, waited_for, waiting
from fathom.diagnose.evidence.load import FEWEST, busy, middle, worked
from fathom.diagnose.evidence.lower import look_below
from fathom.diagnose.evidence.period import comes_back
from fathom.diagnose.evidence.slow_time import MOSTLY, in_part, lasting, stretches
from fathom.diagnose.evidence.starved import starved
from fathom.diagnose.evidence.surroundings import WINDOWS
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.rule import PATH_LATENCY, PATH_RATE, Kind, Rule
from fathom.finding import Evidence, Finding

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_MORE_OFTEN = 0.5
"""Requests outstanding on average from which a disk has one more often than not."""
_UNKNOWN = 0.45
"""How sure it is where the logs do not show where the time goes."""
_FEW = 0.02
"""Part of the moments below which those that follow no others are noise."""
_AS_SLOW = 0.8
"""Part of the latency from which other moments are as slow: one writer that waits for each has now less than one
outstanding and now more."""


def examine(system: System) -> Iterator[Finding]:
    """Volumes beyond their kind's latency while requests wait."""
    told: set[str] = set()
    for disk in system.nearest:
        if disk.name in told:
            continue
        tier, chosen = tier_of(system, disk), _slow(system, disk)
        if chosen is None or starved(system, disk, chosen) is not None:
            continue
        did = figures(disk, chosen)
        harm, found = of_storage(system, disk), located(system, disk, chosen)
        again = comes_back(disk, linux=WINDOWS in system.ruled_out)
        sure = _UNKNOWN if found is None else found.sure
        told |= frozenset() if found is None else found.covers
        # Which disk of the same log it is, or that none is, says where to look, and no more of the cause.
        found = found or look_below(system, disk, chosen) or without_disk(system, disk, chosen)
        where = "the logs do not show where below it the time goes" if found is None else found.where
        yield Finding(
            "L2",
            disk.name,
            f"{disk.name} is slow, {time(did.latency_s)}{_when(system, disk, chosen)}, and {where}.",
            harm.severity,
            sure,
            (
                seen(
                    disk,
                    f"{time(did.latency_s)} at {number(did.load)} outstanding and {number(did.iops)} IOPS; a "
                    f"{tier.name} should keep {time(tier.target_s)}.",
                    chosen,
                ),
                *_waiting(system, disk, chosen),
                *(() if found is None else found.evidence),
                *(() if again is None else (again.evidence,)),
            ),
            harm.sentence,
            "the latency is what this kind of storage has under this load",
            (*(() if again is None else again.remedies), *((to_record(disk),) if found is None else found.remedies)),
        )


def _slow(system: System, disk: Device) -> Flags | None:
    """The slow ones of the moments with most requests waiting where those are slow as a rule, else a slow time that
    lasts, else those in which one request after the other was outstanding more often than not, as of one writer that
    waits for each.
    """
    latency, target = disk.values("latency_s"), tier_of(system, disk).target_s
    chosen = busy(disk) & np.isfinite(latency)
    if chosen.sum() >= FEWEST and middle(latency[chosen]) > target and not _is_noise(disk, chosen):
        return _as_slow(disk, chosen & (latency > target), target)
    if (found := lasting(system, disk)) is not None:
        return found
    serial = worked(disk) & (latency > target) & (np.nan_to_num(disk.load) >= _MORE_OFTEN)
    return serial if serial.sum() >= max(FEWEST, 0.5 * worked(disk).sum()) else None


def _as_slow(disk: Device, slow: Flags, target: float) -> Flags:
    """Slow moments, with those that are as slow while less is outstanding."""
    latency = disk.values("latency_s")
    least = max(target, _AS_SLOW * figures(disk, slow).latency_s)
    return slow | (worked(disk) & (latency > target) & (latency >= least))


def _is_noise(disk: Device, chosen: Flags) -> bool:
    """Whether requests wait in single moments of a long log: two that come together are no slow time."""
    return bool(chosen.sum() < _FEW * worked(disk).sum() and not stretches(chosen).any())


def _waiting(system: System, disk: Device, chosen: Flags) -> Iterator[Evidence]:
    """How many sessions wait for storage in the slow time: their mean over the whole log hides a short one."""
    then, rest = (middle(waiting(system, disk)[each]) for each in (chosen, worked(disk) & ~chosen))
    if then >= LEAST_SESSIONS:
        otherwise = f", {number(rest)} otherwise" if rest >= 0 else ""
        kinds = " and ".join(waited_for(system, disk))
        yield seen(disk, f"{number(then)} sessions wait for {kinds} I/O in these times{otherwise}.", chosen)


def _when(system: System, disk: Device, chosen: Flags) -> str:
    """How long it is slow, where that is a part of the log."""
    slow = worked(disk) & (disk.values("latency_s") > tier_of(system, disk).target_s)
    always = disk.seconds[slow].sum() > MOSTLY * disk.seconds[worked(disk)].sum()
    return in_part(disk, slow if always else chosen)


RULE = Rule("L2", "requests that queue for a slow volume", Kind.CAUSE, (PATH_RATE, PATH_LATENCY), examine)
