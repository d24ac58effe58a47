"""What each disk did, in a sentence: where no rule can tell a cause, that is what a reader goes on with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.load import worked
from fathom.diagnose.evidence.slow_time import recorded_s
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import number, share, time
from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System

_MOST = 4
_IDLE = 0.05
"""Part of the time from which a disk that completes nothing is one that is not always used."""


def overview(system: System) -> list[str]:
    """The disks that had most requests outstanding, at most four, the busiest first, then files of the database
    likewise; and how many more there are.
    """
    disks = [disk for disk in system.nearest if disk.layer is not Layer.DATABASE_FILE]
    ranked = [_loaded(disks), _loaded(system.of(Layer.DATABASE_FILE))]
    said = [_sentence(system, disk) for each in ranked for disk in each[:_MOST]]
    more = sum(map(len, ranked)) - len(said)
    return said if more <= 0 else [*said, f"{more} more with fewer requests outstanding: `--list` names them."]


def _loaded(devices: list[Device]) -> list[Device]:
    """Those of which it is known what they did, the busiest first."""
    known = [disk for disk in devices if disk.has("iops", "latency_s") and worked(disk).any()]
    return sorted(known, key=lambda disk: float(np.nan_to_num(disk.load).mean()), reverse=True)


def _sentence(system: System, disk: Device) -> str:
    latency, tier = disk.values("latency_s"), tier_of(system, disk)
    timed = worked(disk) & np.isfinite(latency)
    slow = timed & (latency > tier.target_s)
    recorded = recorded_s(disk)
    part, used = (disk.seconds[slow].sum() / max(float(each), 1e-9) for each in (recorded, disk.seconds[timed].sum()))
    idle = recorded - disk.seconds[worked(disk)].sum() > _IDLE * recorded
    of_use = f", {share(used)} of that in which it was used" if idle and slow.any() else ""
    rate, load = number(disk.mean("iops")), number(float(np.nan_to_num(disk.load).mean()))
    return (
        f"{disk.name}: {rate} IOPS at {time(disk.mean('latency_s'))} and {load} outstanding on average; "
        f"{time(float(np.nanmax(latency)))} in the slowest interval; longer than the {time(tier.target_s)} that a "
        f"{tier.name} should keep in {share(part)} of the time{of_use}."
    )
