"""A burst that is spent: a rate that was passed at a low latency, and that requests which queue later never pass.

Credits come back while less is asked for, so the rate may rise again for a moment: the time of the fall says less than
that whatever queues is done at one rate exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.load import FEWEST, IDLE_LOAD, in_a_row, middle, scatter, worked
from fathom.diagnose.evidence.unexplained import Fallen, same_kind

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags

_DEEP, _QUEUE = 0.5, 4.0
"""Part of the usual most outstanding from which requests queue, and the least that counts."""
_EXACT, _STILL, _HELD = 0.01, 0.005, 0.8
"""How near to the level most of these moments are, how much they scatter, and how many of them must be there."""
_FEWEST_HELD, _LEAST_PART, _ROW = 15, 0.05, 5
"""Moments at the level, their part of the time, and how many in a row begin it."""
_FASTER, _SOONER, _LEAST_S = 1.2, 4.0, 0.003
"""Times the level that was done before, times as long as requests take at the level, and the least that they take."""

_VARIES = 2.5
"""Times as much that the demand scattered before."""


def spent_burst(disk: Device) -> tuple[Flags, Flags, Fallen] | None:
    """The moments at the level, those of more at a low latency, and what fell; None without."""
    load = np.nan_to_num(disk.load)
    at_work = worked(disk) & np.isfinite(disk.values("latency_s"))
    waits = at_work & (load >= IDLE_LOAD)
    if waits.sum() < _FEWEST_HELD:
        return None
    queued = waits & (load >= max(_QUEUE, _DEEP * middle(load[waits], 95)))
    found = (_held(disk, metric, at_work, queued) for metric in ("iops", "bytes_per_s"))
    return next((each for each in found if each is not None), None)


def _held(disk: Device, metric: str, at_work: Flags, queued: Flags) -> tuple[Flags, Flags, Fallen] | None:
    rates, latency = disk.values(metric), disk.values("latency_s")
    level = middle(rates[queued])
    held = queued & (np.abs(rates / level - 1) <= _EXACT)
    enough = max(_FEWEST_HELD, _HELD * queued.sum(), _LEAST_PART * at_work.sum())
    if held.sum() < enough or scatter(rates[held]) > _STILL or middle(latency[held]) < _LEAST_S:
        return None
    faster = at_work & (rates >= _FASTER * level) & (latency * _SOONER <= middle(latency[held]))
    rows = [each for each in in_a_row(held) if len(each) >= _ROW]
    # A load that keeps to a rate of its own may change that.
    if not scatter(rates[faster]) >= _VARIES * scatter(rates[held]):
        return None
    # A burst comes first; what a quiet time saved up later is shorter.
    if not rows or faster[: rows[0][0]].sum() < FEWEST or not same_kind(disk, held, faster):
        return None
    return held, faster, Fallen(metric, level, scatter(rates[held]), middle(rates[faster], 90))
