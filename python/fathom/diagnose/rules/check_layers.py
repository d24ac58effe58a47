"""Q6: time lost between two layers: filter drivers, encryption, the volume manager."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.words import seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import DISK_COLLECT, Kind, Need, Rule
from fathom.finding import Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Files against disks, then volumes against disks; both as means over all of them."""
    disks = _mean(system.of(Layer.GUEST_DISK))
    files, volumes = _mean(system.of(Layer.DATABASE_FILE)), _mean(system.of(Layer.GUEST_VOLUME))
    under = disks if disks > 0 else volumes
    if files - under > 0.002 and files > 1.3 * under:
        yield _finding(
            system.of(Layer.DATABASE_FILE)[0],
            "the database's files",
            files,
            under,
            "Filter drivers (antivirus, encryption) or waits for processors: `fltmc instances` lists them.",
        )
    if volumes - disks > 0.001:
        yield _finding(
            system.of(Layer.GUEST_VOLUME)[0],
            "volumes",
            volumes,
            disks,
            "Look at volume manager, encryption and snapshots.",
        )


def _mean(devices: list[Device]) -> float:
    parts = [(d.mean("latency_s"), d.mean("iops")) for d in devices if d.has("iops", "latency_s")]
    parts = [(latency, rate) for latency, rate in parts if latency > 0 and rate > 0]
    return sum(latency * rate for latency, rate in parts) / sum(rate for _, rate in parts) if parts else float("nan")


def _finding(device: Device, what: str, upper: float, lower: float, action: str) -> Finding:
    return Finding(
        "Q6",
        device.name,
        f"{what} take {time(upper)}, the disks below {time(lower)}: the difference is lost between them",
        Severity.NOTE,
        0.7,
        (seen(device, f"{time(upper)} above, {time(lower)} below."),),
        None,
        "the two logs cover different times",
        (Remedy(action, ("fltmc instances",)),),
    )


RULE = Rule(
    "Q6",
    "no time lost between layers",
    Kind.CHECK,
    (Need((Layer.GUEST_DISK, Layer.GUEST_VOLUME), ("latency_s",), DISK_COLLECT),),
    examine,
)
