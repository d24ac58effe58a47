"""D1: the queue of one disk is full.

The number of outstanding requests stays at its maximum, and the maximum is a depth that drivers use. A queue above a
full one grows without bound, so a capped counter alone is seen only where the counter is below the cap.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import busy, middle, pinned, served
from fathom.diagnose.evidence.load import plateau as plateau_of
from fathom.diagnose.evidence.queues import above_device, deeper, whose
from fathom.diagnose.evidence.saturation import at_ceiling
from fathom.diagnose.evidence.slots import full_slots
from fathom.diagnose.evidence.slow_time import slow_time
from fathom.diagnose.evidence.starved import short_of_processors
from fathom.diagnose.evidence.surroundings import is_mount
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import number, seen, share, time
from fathom.diagnose.rule import QUEUE, RATE, Kind, Rule
from fathom.finding import Finding

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System

_RISES = 1.2
"""How many times as long requests take at the depth as below it."""


def examine(system: System) -> Iterator[Finding]:
    """Every disk by itself."""
    for disk in (each for each in system.disks if not is_mount(each)):
        found = _in_guest(system, disk) or _pinned(system, disk) or above_device(system, disk)
        if found is not None:
            yield found


def _in_guest(system: System, disk: Device) -> Finding | None:
    """The queue between a guest's disk and its virtual disk."""
    slow = slow_time(system, disk)
    slots = full_slots(system, disk, slow)
    if slots is None or short_of_processors(system, disk, slots.chosen):
        return None
    harm, always = of_storage(system, disk), (slots.chosen == slow).all()
    latency, through = (
        middle(each[slots.chosen]) for each in (disk.values("latency_s"), onto(disk, slots.below, "latency_s"))
    )
    when = "all the time" if always else f"at {time(through)}, however many wait"
    part = "" if always else f"In {share(slots.chosen.sum() / slow.sum())} of the slow time "
    words = (
        f"{part}{number(slots.waiting)} requests are outstanding in the guest, at {time(latency)}; its virtual disk, "
        f"{slots.below.name}, has {number(slots.level)} of them {when}: the depth of {slots.queue.name}."
    )
    return Finding(
        "D1", disk.name, f"The guest's queue below {disk.name} is full: it lets {slots.queue.depth} requests through.",
        harm.severity, 0.85 if always else 0.75, (seen(disk, words, slots.chosen),), harm.sentence,
        "so many are at the virtual disk by chance, and the guest waits for its processors or a filter driver",
        deeper(system, [disk]),
    )  # fmt: skip


def _pinned(system: System, disk: Device) -> Finding | None:
    load = disk.values("outstanding")
    load = load if np.isfinite(load).sum() >= 8 else disk.load
    real = system.number("queue_depth", disk.device)
    plateau = pinned(load, system.limits, "device", depth=real)
    if plateau is None:
        return None
    latency, below = disk.values("latency_s"), busy(disk) & ~plateau.chosen
    full = middle(latency[plateau.chosen])
    free = middle(latency[below])
    if not full > system.limits.target_s("flash array") or full < free / _RISES:
        return None
    known = real is not None and plateau.queue.source == "the log"
    evidence = [
        seen(disk, f"Outstanding requests stay at {number(plateau.level)}, their maximum, in {share(plateau.share)} of "
             f"the busy moments{whose(system, [disk], plateau.queue)}.", plateau.chosen),
        seen(disk, f"Latency is {time(full)} there" + (f", {time(free)} below." if free > 0 else "."), plateau.chosen),
    ]  # fmt: skip
    # A queue that never leaves its depth, or is as fast there as below, may as well be a load of that many threads.
    threads = not full >= _RISES * free
    if threads and not known and full <= tier_of(system, disk).target_s:
        return None
    # Where as much was done at the usual latency, the depth is met by chance.
    level = plateau_of(disk, "iops")
    chance = level is not None and served(disk, level)
    sure = 0.45 if (threads or chance) and not known else (0.9 if known else 0.75)
    # The same rate with half as many outstanding: no queue of this depth holds it.
    flat = at_ceiling(system, disk)
    sure = 0.4 if flat is not None and 2 * flat.load[0] <= plateau.level else sure
    harm = of_storage(system, disk)
    return Finding(
        "D1", disk.name, f"The queue of {disk.name} is full at {number(plateau.level)} outstanding requests.",
        harm.severity, sure, tuple(evidence), harm.sentence,
        "the load never offers more requests (as many threads as the depth), or the device's own rate is at its limit",
        deeper(system, [disk]),
    )  # fmt: skip


RULE = Rule("D1", "full queue of a disk", Kind.CAUSE, (RATE, QUEUE), examine)
