"""Q8: moments in which nothing was recorded: whoever recorded, or the whole machine, stood still."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.words import length, seen
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import DISK_COLLECT, Kind, Need, Rule
from fathom.finding import Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_FEWEST = 20
_TIMES, _LONGER_S = 4.0, 3.0
"""How many times the usual interval, and how many seconds more, one is that a recorder alone does not make."""
_JOINED_S = 3600.0
"""A gap this long is one between two recordings."""


def examine(system: System) -> Iterator[Finding]:
    """Of each host's disks, which are looked at together, the one with the most moments."""
    hosts: dict[str | None, Device] = {}
    for disk in system.of(Layer.GUEST_DISK):
        if disk.host not in hosts or len(disk.times_ns) > len(hosts[disk.host].times_ns):
            hosts[disk.host] = disk
    for disk in hosts.values():
        stood = _gaps(disk)
        if len(disk.times_ns) >= _FEWEST and stood.any():
            many = "once" if stood.sum() == 1 else f"{stood.sum()} times"
            yield Finding(
                "Q8",
                disk.host or "this host",
                f"nothing was recorded for up to {length(float(disk.seconds[stood].max()))}, {many}: the machine may "
                "have stood still, as a virtual one does for a snapshot or a move",
                Severity.NOTE,
                0.6,
                (seen(disk, f"The other intervals are {length(disk.interval_s)} long.", stood),),
            )


def _gaps(disk: Device) -> Flags:
    least = max(_TIMES * disk.interval_s, disk.interval_s + _LONGER_S)
    return (disk.seconds >= least) & (disk.seconds < _JOINED_S)


RULE = Rule(
    "Q8",
    "no gaps",
    Kind.CHECK,
    (Need((Layer.GUEST_DISK,), ("iops", "outstanding", "outstanding_mean"), DISK_COLLECT),),
    examine,
)
