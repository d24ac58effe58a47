"""D32: discards (TRIM, UNMAP) slow a disk's other requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.discards import slowed_by_discards
from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.slow_time import of_the_time
from fathom.diagnose.evidence.words import megabytes, number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import LATENCY, RATE, Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.discards import Slowed
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Every disk that counts its discards."""
    for disk in system.disks:
        found = slowed_by_discards(disk)
        if found is None:
            continue
        harm = of_storage(system, disk)
        yield Finding(
            "D32",
            disk.name,
            f"Discards slow {disk.name}: reads and writes take {time(found.latency_s[1])} beside them and "
            f"{time(found.latency_s[0])} otherwise, {of_the_time(disk, found.beside)}.",
            harm.severity,
            found.sure,
            (seen(disk, _words(found), found.beside),),
            harm.sentence,
            "what deletes or moves the data slows the disk by itself, and its discards are only beside it",
            (_later(disk),),
        )


def _words(found: Slowed) -> str:
    moved = f" of {megabytes(found.bytes_per_s)}" if found.bytes_per_s > 0 else ""
    return (
        f"{number(found.rate[1])} reads and writes/s beside {number(found.discards)} discards/s{moved}, "
        f"{number(found.rate[0])} otherwise."
    )


def _later(disk: Device) -> Remedy:
    device = disk.device or "DEV"
    return Remedy(
        "Keep discards out of busy times: mount without `discard` and trim in a quiet hour; or make each of them "
        "smaller, so that other requests get in between.",
        (
            "Linux: findmnt -o TARGET,SOURCE,OPTIONS | grep discard",
            "Linux: mount -o remount,nodiscard MOUNTPOINT (and in /etc/fstab)",
            "Linux: systemctl enable --now fstrim.timer",
            f"Linux: echo 67108864 > /sys/block/{device}/queue/discard_max_bytes",
        ),
        "Until it is trimmed the disk does not know what is free: writes may become slower on one that is nearly full.",
        "Files are deleted without a slow time.",
    )


RULE = Rule(
    "D32",
    "discards slow the disk",
    Kind.CAUSE,
    (RATE, LATENCY, Need((Layer.GUEST_DISK,), ("discard_iops",), "iostat -xty 1")),
    examine,
)
