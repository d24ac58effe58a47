"""Files of a database beside disks: which disk a file lies on, as far as the logs tell it, and what they say of files
that no disk tells of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.figures import latency_below
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import FEWEST, worked
from fathom.diagnose.evidence.located import Located
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import beside, number, time
from fathom.diagnose.metrics import Layer
from fathom.finding import Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System
    from fathom.finding import Evidence

_LETTER = re.compile(r"[a-z]:", re.IGNORECASE)
_TIMES = 2.0
"""How many times as long as a disk a file takes that the disk does not explain."""
_PART, _FEW = 0.05, 3
"""Part of a file's time, and moments, from which what no disk tells of matters."""
_NAMED = 2
"""Disks that are named beside a file, the slowest first."""
_WHICH = Remedy(
    "See which disk the file lies on, and record that one in the same time.",
    ("Linux: findmnt -T FILE", "Linux: lsblk -s", "fathom record --print windows"),
    None,
    "The findings name the file and its disk.",
)


def lies_on(file: Device, disk: Device) -> bool | None:
    """Whether a file lies on a disk by the letters of both; None where one has no letter."""
    return on_letter(file.device or "", disk)


def on_letter(path: str, disk: Device) -> bool | None:
    """As `lies_on`, of a path."""
    own = _LETTER.match(path)
    letters = [word.casefold() for word in (disk.device or "").split() if _LETTER.fullmatch(word)]
    return own[0].casefold() in letters if own is not None and letters else None


def apart(system: System, disks: Sequence[Device]) -> list[Device]:
    """The files of which these disks do not tell: on another disk, or at another time, of which only those moments
    count; and where the logs do not say on which disk they lie, files that are slow while no disk takes as long.
    """
    files = (each for each in system.of(Layer.DATABASE_FILE) if each.has("iops", "latency_s"))
    found = ((file, _untold(system, file, disks)) for file in files)
    return [_in(file, chosen) for file, chosen in found if chosen is not None]


def _untold(system: System, file: Device, disks: Sequence[Device]) -> Flags | None:
    """The moments of a file that are its own to judge; None where the disks tell of it."""
    own, other = ([disk for disk in disks if lies_on(file, disk) is known] for known in (True, None))
    told = np.zeros(len(file.times_ns), dtype=bool)
    for disk in own:
        for metric in ("iops", "outstanding_mean", "outstanding"):
            told |= np.isfinite(onto(file, disk, metric))
    at_work = worked(file) & ~told
    if not told.any() and (own or not other):
        return ~told if at_work.any() else None
    # Few moments behind a disk's log, or those of a file that may lie on a disk, count where the file is slow.
    if (other and not own) or at_work.sum() < FEWEST:
        latency = file.values("latency_s")
        at_work &= latency > tier_of(system, file).target_s
        for disk in other if not own and at_work.any() else ():
            at_work &= ~(_TIMES * onto(file, disk, "latency_s") >= latency)
    return ~told if at_work.sum() >= _FEW and _part(file, at_work) >= _PART else None


def _part(file: Device, chosen: Flags) -> float:
    return float(file.seconds[chosen].sum() / max(file.seconds[worked(file)].sum(), 1e-9))


def _in(file: Device, chosen: Flags) -> Device:
    """A file in some of its moments."""
    if chosen.all():
        return file
    measured = {metric: values[chosen] for metric, values in file.measured.items()}
    times_ns, seconds = file.times_ns[chosen], file.seconds[chosen]
    begins = file.begins and bool(chosen[0])
    return replace(file, times_ns=times_ns, seconds=seconds, measured=measured, begins=begins, _derived={})


def without_disk(system: System, file: Device, slow: Flags) -> Located | None:
    """What the logs know of the time of a slow file that lies on none of their disks; None where they have no disk."""
    disks = [each for each in system.nearest if each.layer is not Layer.DATABASE_FILE]
    if file.layer is not Layer.DATABASE_FILE or not disks:
        return None
    timed = [each for each in disks if lies_on(file, each) is None and latency_below(file, each, slow) >= 0]
    if not timed:
        return Located("no log tells what its disk did then", (), (_WHICH,))
    slowest = sorted(timed, key=lambda each: latency_below(file, each, slow), reverse=True)
    most = time(latency_below(file, slowest[0], slow))
    words = f"no disk of the logs takes more than {most} then: the time is lost above them, or the file lies on another"
    return Located(words, tuple(_said(file, each, slow) for each in slowest[:_NAMED]), (_WHICH,))


def _said(file: Device, disk: Device, slow: Flags) -> Evidence:
    rate = number(float(np.nanmean(onto(file, disk, "iops")[slow])))
    return beside(file, disk, f"{disk.name}: {time(latency_below(file, disk, slow))} at {rate} IOPS then.", slow)


def kinds(files: Iterable[Device]) -> set[str]:
    """The classes of waits in which these files are waited for, by the ending of the files of SQL Server's log."""
    return {"log" if (file.device or "").casefold().endswith(".ldf") else "data" for file in files}
