"""Waits that follow from the load: by Little's law as many sessions wait for storage as requests are outstanding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import LEAST_SESSIONS, sessions, waiting
from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import number, time

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System

STORAGE = ("data", "log", "file growth")
"""Waits for storage; zeros that a file grows by are written to it as well."""
LITTLE = 0.2
"""Requests outstanding on average below which a disk is hardly used."""
_SHORT, _AS_MANY = 0.3, 1.3
"""Part of what a disk should keep, and sessions for each request outstanding, up to which waits are usual."""
_MOST = 0.6
"""Part of the sessions that wait which requests outstanding explain: some were served and do not run yet."""


def is_usual(system: System) -> bool:
    """Whether no more sessions wait for storage than requests are outstanding, at latencies far below what should be
    kept: a server that reads much has some who read.
    """
    short = all(
        not disk.mean("latency_s") > _SHORT * tier_of(system, disk).target_s
        for disk in _timed(system) if _load(disk) >= LITTLE
    )  # fmt: skip
    load = sum(_load(disk) for disk in _timed(system))
    return short and sessions(system, *STORAGE) <= _AS_MANY * load


def explained(system: System) -> str | None:
    """The requests outstanding while sessions wait for storage, where they explain most of these; else None."""
    busiest = max(_timed(system), key=_load, default=None)
    if busiest is None:
        return None
    waits = waiting(system, busiest)
    then = waits >= LEAST_SESSIONS
    if not then.any():
        return None
    loads = [np.nan_to_num(onto(busiest, disk, "iops") * onto(busiest, disk, "latency_s")) for disk in _timed(system)]
    load = float(np.mean(np.sum(loads, axis=0)[then]))
    if load < _MOST * float(np.mean(waits[then])):
        return None
    rate, latency = number(busiest.mean("iops", then)), time(busiest.mean("latency_s", then))
    return f"the {number(load)} requests outstanding then ({busiest.name}: {rate} IOPS, {latency})"


def _timed(system: System) -> list[Device]:
    return [disk for disk in system.nearest if disk.has("iops", "latency_s")]


def _load(disk: Device) -> float:
    return float(np.nan_to_num(disk.mean("iops") * disk.mean("latency_s")))
