"""Limits that the user states: a rate that sits at one while requests queue is held there.

A limit of a table counts only with a rise to it, for many loads have such a rate by chance. Of a volume whose limit is
known the rate need not have risen: that it sits just there is no chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.load import FEWEST, middle, worked
from fathom.diagnose.evidence.throttle import Throttle
from fathom.diagnose.evidence.words import megabytes, number, seen, share, time

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.limits import Cap
    from fathom.diagnose.evidence.system import System

_NEAR, _SCATTER = 0.05, 0.1
"""Relative distance from a limit of the mean rate that is at it, and of a moment's: where counters are read a little
early, the next interval has what this one lacks."""
_QUEUE, _LEAST_S = 2.0, 0.002
"""Requests outstanding, and a latency, from which requests wait for more than themselves."""
_HELD, _ABOVE = 0.85, 0.1
"""Part of the moments with a queue that are at the limit, and of all moments that may be above it."""
_DIRECTIONS = {"iops": "IOPS", "read_iops": "reads/s", "write_iops": "writes/s"}
_OF_BYTES = {"bytes_per_s": "", "read_bytes_per_s": " of reads", "write_bytes_per_s": " of writes"}

_SURE = 0.6
"""How sure such a limit is."""


def at_stated_limit(system: System, disk: Device) -> Throttle | None:
    """The limit; None where the disk is at none that the user states."""
    waits = worked(disk) & (np.nan_to_num(disk.load) >= _QUEUE)
    if waits.sum() < FEWEST:
        return None
    found = [
        (abs(disk.mean(metric, chosen) / limit - 1), cap.name, metric, cap, chosen)
        for cap, metric, limit in _stated(system)
        if (chosen := _held(disk, metric, limit, waits)) is not None
        and middle(disk.values("latency_s")[chosen]) >= _LEAST_S
    ]
    if not found:
        return None
    _, _, metric, cap, chosen = min(found, key=lambda each: each[:3])
    level, part = _rate(metric, disk.mean(metric, chosen)), share(chosen.sum() / waits.sum())
    words = (
        f"{level} in {part} of the moments in which requests queue, and hardly anything above: "
        f"{time(middle(disk.values('latency_s')[chosen]))} at {number(middle(disk.load[chosen]))} outstanding."
    )
    what = f"it stays at {level}, a limit that you state ({cap.name})"
    return Throttle(what, _SURE, (seen(disk, words, chosen),), False, cap.cloud, sold=cap.name)


def _stated(system: System) -> Iterator[tuple[Cap, str, float]]:
    """Each limit that the user states with each rate that it may be of: of all requests, or of one direction."""
    for cap in system.limits.caps:
        if cap.stated and cap.kind == "volume":
            pairs = ((cap.iops, _DIRECTIONS), (cap.bytes_per_s, _OF_BYTES))
            yield from ((cap, metric, limit) for limit, metrics in pairs if limit is not None for metric in metrics)


def _held(disk: Device, metric: str, limit: float, waits: Flags) -> Flags | None:
    """The moments at a limit, where it holds what queues; None where it does not."""
    rates = np.nan_to_num(disk.values(metric))
    at_limit = waits & (np.abs(rates / limit - 1) <= _SCATTER)
    above = (rates > (1 + _SCATTER) * limit).sum()
    held = at_limit.sum() >= _HELD * waits.sum() and above <= _ABOVE * worked(disk).sum()
    return at_limit if held and abs(disk.mean(metric, at_limit) / limit - 1) <= _NEAR else None


def _rate(metric: str, level: float) -> str:
    if metric in _DIRECTIONS:
        return f"{number(level)} {_DIRECTIONS[metric]}"
    return f"{megabytes(level)}{_OF_BYTES[metric]}"
