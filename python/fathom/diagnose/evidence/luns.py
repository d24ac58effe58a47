"""LUNs of ESXi: their names for commands, those that are slow at the same moments, and other hosts that load the same
LUN.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.join import onto
from fathom.diagnose.evidence.load import middle, worked
from fathom.diagnose.evidence.words import beside, megabytes, number
from fathom.diagnose.metrics import Layer
from fathom.finding import Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System
    from fathom.finding import Evidence

_NAME = re.compile(r"(?:naa|eui|t10|mpx)\.[\w.:-]+")
"""Names of devices, which no shell takes for anything else."""
_TOGETHER = 0.7
"""Part of the slow moments of either of two LUNs in which the other one is slow as well."""
_TIMES = 4.0
"""How many times its usual rate another host reaches in the slow time, whose load explains it."""
_LIMIT = Remedy(
    "Find the machine or job of the other host that uses the LUN in these times. Move it to another time or LUN, or "
    "limit its disks (IOPS limit, Storage I/O Control).",
    ("esxtop (v: virtual disks, on the other host)", "esxcli storage vmfs extent list"),
    "A limit makes that job take longer.",
    "DAVG stays the usual one while the other host's load runs.",
)


def name_of(lun: Device) -> str:
    """The device's name for a command. `Device.name` is for people: it tells the host as well."""
    return lun.device if lun.device is not None and _NAME.fullmatch(lun.device) else "naa.ID"


def together(one: Device, slow: Flags, other: Device, others: Flags) -> bool:
    """Whether two LUNs are slow at the same moments, as their own logs' clocks tell."""
    return min(_covered(one, slow, other, others), _covered(other, others, one, slow)) >= _TOGETHER


def _covered(one: Device, slow: Flags, other: Device, others: Flags) -> float:
    times = one.times_ns[slow]
    places = np.clip(np.searchsorted(other.times_ns, times), 0, len(other.times_ns) - 1)
    near = np.abs(other.times_ns[places] - times) <= other.interval_s * 1e9
    return float((near & others[places]).mean()) if len(times) else 0.0


@dataclass(frozen=True)
class Busy:
    """Another host that loads the same LUN in its slow time: a clause, its evidence and what to do."""

    what: str
    evidence: Evidence
    remedy: Remedy


def other_host(system: System, lun: Device, slow: Flags) -> Busy | None:
    """The host that moves most on the same LUN in these moments, more than this one and hardly anything otherwise."""
    found = [
        busy for each in system.of(Layer.HOST_DEVICE)
        if each.device == lun.device and each.host not in {lun.host, None} and (busy := _busy(lun, each, slow))
    ]  # fmt: skip
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _busy(lun: Device, other: Device, slow: Flags) -> tuple[float, Busy] | None:
    metric = "bytes_per_s" if lun.has("bytes_per_s") and other.has("bytes_per_s") else "iops"
    load = onto(lun, other, metric)
    then, usual, own = (
        middle(each) for each in (load[slow], load[worked(lun) & ~slow], lun.values(metric)[slow])
    )  # fmt: skip
    if not (then >= _TIMES * usual and then >= own):
        return None
    rates = [megabytes(each) if metric == "bytes_per_s" else f"{number(each)} IOPS" for each in (then, usual, own)]
    said = (
        f"{other.host} does {rates[0]} on the same LUN in these times, and {rates[1]} otherwise; {lun.host} {rates[2]}."
    )
    return then, Busy(f"{other.host} does {rates[0]} on it then", beside(lun, other, said, slow), _LIMIT)
