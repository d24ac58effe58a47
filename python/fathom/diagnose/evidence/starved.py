"""Disks that seem slow because their machine does not run: a request counts until its machine sees that it is done.

Processors that others have, or that are busy, explain a slow time only where they are so then and not otherwise. What
the hypervisor sees of the same requests in the same moments tells for certain.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.elsewhere import (
    GIVEN,
    LESS_SHARED,
    STOLEN_PERCENT,
    Elsewhere,
    busy_processors,
    given_away,
    is_full,
    machines,
    missed,
    ready_of,
    ready_words,
    used_of,
    waited,
)
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import middle, worked
from fathom.diagnose.evidence.slots import does_the_same, full_slots, virtual_disk_of
from fathom.diagnose.evidence.words import number, seen, share, time
from fathom.diagnose.metrics import Layer
from fathom.finding import Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags, Floats
    from fathom.diagnose.evidence.system import System

_FEWEST = 3
_MOSTLY, _SELDOM = 0.7, 0.2
"""Shares of the slow time, and of the rest, in which processors are missing where they explain the slow time."""
_PART, _MOST = 0.3, 0.5
"""Parts of a disk's latency that the layer below shows where the time is above it, and where it is not."""
_IN_GUEST = Remedy(
    "Look in the guest and at its processors: ready and co-stop time on the host, filter drivers, full queues of the "
    "guest's adapter.",
    ("esxtop (c: %RDY and %CSTP; v: virtual disks)", "fltmc instances"),
    "None to look.",
    "The disk takes as long in the guest as its virtual disk on the host.",
)


def starved(system: System, disk: Device, slow: Flags) -> Elsewhere | None:
    """What other than storage makes these moments of a disk slow; None where the logs show nothing of it."""
    if _slow_below(system, disk, slow):
        return None
    missing = (found for each in (_stolen, _waiting, _full) if (found := each(system, disk, slow)) is not None)
    return next(missing, None) or in_guest(system, disk, slow)


def short_of_processors(system: System, disk: Device, slow: Flags) -> bool:
    """Whether the disk's machine waited for processors in most of these moments, also where it always does."""
    missing = [onto(disk, host, "cpu_steal_percent") >= STOLEN_PERCENT for host in _hosts(system, disk)]
    for machine in _machines(system, disk):
        missing.append(waited(partial(onto, disk, machine)))
    return any(each[slow].mean() >= _MOSTLY for each in missing)


def _stolen(system: System, disk: Device, slow: Flags) -> Elsewhere | None:
    for host in _hosts(system, disk):
        steal = onto(disk, host, "cpu_steal_percent")
        if _only_then(disk, steal >= STOLEN_PERCENT, np.isfinite(steal), slow):
            words = f"Steal is {_then(disk, steal, slow)}: the machine wanted to run and others ran."
            return Elsewhere(GIVEN, seen(host, words), LESS_SHARED)
    return None


def _waiting(system: System, disk: Device, slow: Flags) -> Elsewhere | None:
    for machine in _machines(system, disk):
        values = partial(onto, disk, machine)
        if _only_then(disk, waited(values), np.isfinite(ready_of(values)), slow):
            part, rest = middle(missed(values)[slow]), worked(disk) & ~slow
            wanted = f"for {share(part)} of the processor time that it wanted" if part >= 0 else "for processors"
            words = (
                f"{machine.name} waited {wanted} while {disk.name} was slow: {ready_words(values, slow)}, and "
                f"{number(middle(ready_of(values)[rest]))} otherwise."
            )
            return given_away(machine, seen(machine, words), known=part >= 0)
    return None


def _full(system: System, disk: Device, slow: Flags) -> Elsewhere | None:
    for host in _hosts(system, disk):
        used, own = used_of(partial(onto, disk, host))
        if _only_then(disk, is_full(used, own), np.isfinite(used), slow):
            return busy_processors(system, host, f"Processors were busy {_then(disk, used, slow)}.")
    return None


def in_guest(system: System, disk: Device, slow: Flags) -> Elsewhere | None:
    """The time that a guest's disk takes and its virtual disk does not; a full queue between them is storage's."""
    below = virtual_disk_of(system, disk, slow)
    full = full_slots(system, disk, slow) is not None and not short_of_processors(system, disk, slow)
    if below is None or full:
        return None
    whole, part = middle(disk.values("latency_s")[slow]), middle(onto(disk, below, "latency_s")[slow])
    if not part <= _PART * whole:
        return None
    words = (
        f"In the slow time {disk.name} takes {time(whole)} in the guest, and its virtual disk {below.name} "
        f"{time(part)} at the same rate."
    )
    return Elsewhere(
        f"the time of {disk.name} is spent in the guest, above its virtual disk", seen(below, words), _IN_GUEST
    )


def _slow_below(system: System, disk: Device, slow: Flags) -> bool:
    """Whether the hypervisor sees these requests wait as well."""
    least = _MOST * middle(disk.values("latency_s")[slow])
    below = [each for each in system.of(Layer.VIRTUAL_DISK) if each is not disk and does_the_same(disk, each, slow)]
    seen_there = [onto(disk, each, "latency_s") for each in below]
    seen_there += [onto(disk, each, "device_latency_s") for each in system.of(Layer.HOST_DEVICE) if each is not disk]
    return any(middle(each[slow]) >= least for each in seen_there)


def _hosts(system: System, disk: Device) -> Iterator[Device]:
    """The disk's own machine; the only one where a log does not name it."""
    for host in system.hosts:
        if host.host == disk.host or len(system.hosts) == 1:
            yield host


def _machines(system: System, disk: Device) -> list[Device]:
    """The disk's own virtual machine; the only one where none has its name."""
    every = machines(system)
    named = [each for each in every if (each.device or "").casefold() == (disk.host or "").casefold()]
    return named or (every if len(every) == 1 else [])


def _only_then(disk: Device, hit: Flags, known: Flags, slow: Flags) -> bool:
    then, rest = known & slow, known & worked(disk) & ~slow
    if min(then.sum(), rest.sum()) < _FEWEST:
        return False
    return bool(hit[then].mean() >= _MOSTLY and hit[rest].mean() <= _SELDOM)


def _then(disk: Device, percent: Floats, slow: Flags) -> str:
    then, rest = (number(middle(percent[each])) for each in (slow, worked(disk) & ~slow))
    return f"{then} % in the slow time of {disk.name} and {rest} % otherwise"
