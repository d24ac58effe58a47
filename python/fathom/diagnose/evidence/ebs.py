"""The type of an EBS volume, as it is described or as its rates tell it, and what changes its limit.

Amazon EBS user guide, "Amazon EBS volume types": gp2 has at least 100 IOPS and at most 250 MiB/s; st1 and sc1 are hard
disks of at most 500 and 250 IOPS with credits in throughput, whose baseline and burst grow with the size. "Amazon EBS
I/O characteristics": one I/O is at most 256 KiB on SSD volumes and 1,024 KiB on HDD volumes. CloudWatch has a balance
of gp2, st1 and sc1 alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.load import IDLE_LOAD, middle
from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System

HDD = "st1 or sc1"
"""A volume that is a hard disk, of a type that no log tells."""
MOST_MIB = 250
"""The most throughput that a gp2 has."""
LEAST_IOPS = 100
"""The least that a gp2 has, without credits."""
_MOST_HDD_IOPS = 500
_LARGEST_KIB = 256
"""The largest I/O of an SSD volume."""
_MARGIN = 0.05
_FEWEST = 3
TYPE = "aws ec2 describe-volumes --volume-ids vol-ID --query 'Volumes[].[VolumeType,Size]'"
_MODIFY = "aws ec2 modify-volume --volume-id vol-ID"


@dataclass(frozen=True)
class Disks:
    """A type of hard disks: MiB/s for each TiB, and the most of any size."""

    baseline: int
    burst: int
    most_baseline: int
    most_burst: int

    def baseline_mib(self, size_bytes: float) -> float:
        """MiB/s of a volume without credits."""
        return min(self.most_baseline, self.baseline * size_bytes / 2**40)

    def burst_mib(self, size_bytes: float) -> float:
        """MiB/s of a volume with credits."""
        return min(self.most_burst, self.burst * size_bytes / 2**40)


DISKS = {"st1": Disks(40, 250, 500, 500), "sc1": Disks(12, 80, 192, 250)}
LARGEST_GIB = 16384
"""Size up to which such a volume can grow."""


def described_type(system: System, disk: Device) -> str | None:
    """The type of a volume by its description: its own, or where the disk has another name the only one there is."""
    types = {fact.subject: fact.value for fact in system.facts if fact.name == "volume_type"}
    if disk.device in types:
        return types[disk.device]
    # A described volume that other metrics name is not this one.
    named = disk.layer is Layer.CLOUD_VOLUME and (disk.device or "").startswith("vol-")
    return next(iter(types.values())) if len(set(types.values())) == 1 and not named else None


def type_of(system: System, disk: Device) -> str | None:
    """The type of a volume: as it is described, else of one with credits as its rates tell it; None where nothing
    tells.
    """
    described = described_type(system, disk)
    if described is not None or disk.layer is not Layer.CLOUD_VOLUME or not disk.has("burst_balance_percent"):
        return described
    rates, waits = disk.values("iops"), np.nan_to_num(disk.load) >= IDLE_LOAD
    if _of_service(system, disk) or middle(rates, 99) > (1 + _MARGIN) * _MOST_HDD_IOPS:
        return "gp2"
    held = waits & (rates > 0)
    few = held.sum() >= _FEWEST and middle(rates[held], 25) < (1 - _MARGIN) * LEAST_IOPS
    large = middle(disk.values("size_bytes")) > (1 + _MARGIN) * _LARGEST_KIB * 1024
    return HDD if few or large else None


def is_hdd(kind: str | None) -> bool:
    """Whether a type is one of hard disks, whose credits are for throughput."""
    return kind == HDD or kind in DISKS


def larger(kind: str | None) -> str:
    """The command that raises the limits of a volume of a type; a volume of an unknown one becomes a gp3."""
    if is_hdd(kind):
        return f"{_MODIFY} --size GIB"
    return f"{_MODIFY} --iops N" if kind in {"io1", "io2"} else f"{_MODIFY} --volume-type gp3 --iops N --throughput M"


def size_for(kind: str, mib_per_s: float) -> int | None:
    """GiB from which on a hard disk has so much throughput without credits; None where none has."""
    of = DISKS[kind]
    gib = math.ceil(mib_per_s / of.baseline * 1024)
    return gib if mib_per_s <= of.most_baseline and gib <= LARGEST_GIB else None


def _of_service(system: System, disk: Device) -> bool:
    """Whether a service owns the volume: RDS and FSx sell none of EBS's hard disks."""
    return any(
        (fact.name, fact.subject) == ("cloud_service", disk.device) and fact.value != "EBS" for fact in system.facts
    )
