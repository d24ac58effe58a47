"""Whether a disk can be a volume that a cloud sells: its limits are more than numbers only there.

A host's kernel, its disks' models and the cloud's own logs tell for certain. Where nothing does, the name of the disk
may still exclude a cloud.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.surroundings import CLOUDS, PLATFORMS
from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System

SURE = 0.5
"""Confidence from which something is said without a doubt."""
DOUBTFUL = 0.45
KNOWN, _FITS = 0.8, 0.6

_MODELS = {
    "aws": re.compile(r"Elastic Block|\bEBS\b", re.I),
    "azure": re.compile(r"Azure|Msft Virtual|MSFT NVMe", re.I),
    "gcp": re.compile(r"Google|PersistentDisk|nvme_card-pd", re.I),
}
_NEVER = {
    "aws": re.compile(r"(?:/dev/)?(?:sd[a-z]+|hd[a-z]|loop)\d*$"),
    "azure": re.compile(r"(?:/dev/)?(?:sd[ab]|hd[a-z]|loop)\d*$"),
    "gcp": re.compile(r"(?:/dev/)?(?:(?:xvd|hd)[a-z]|loop)\d*$"),
}
"""Names that volumes of data do not have there: EBS is NVMe or xvdX on Linux; sda and sdb are Azure's own two disks;
Google's are SCSI or NVMe. A loop of Linux is a file.
"""


def is_rented(system: System) -> bool:
    """Whether the logs tell that the system is in a cloud that sells its volumes by their rates."""
    return any(is_in(system, cloud) for cloud in CLOUDS)


def is_in(system: System, cloud: str) -> bool:
    """Whether the logs tell that the system is in this cloud: of all platforms it alone is not ruled out."""
    others = set(PLATFORMS) - {CLOUDS[cloud]}
    return others <= system.ruled_out and CLOUDS[cloud] not in system.ruled_out


def sold_there(system: System, disk: Device, cloud: str | None) -> float:
    """How sure it can be at most that a disk is a volume of a cloud: 0 where that is ruled out; of none in particular,
    as sure as where it is known.
    """
    if cloud is None or is_in(system, cloud) or disk.layer is Layer.CLOUD_VOLUME:
        return KNOWN
    if CLOUDS[cloud] in system.ruled_out:
        return 0.0
    model = system.fact("model", disk.device) if disk.device else None
    if model:
        return KNOWN if _MODELS[cloud].search(model) else DOUBTFUL
    return DOUBTFUL if _NEVER[cloud].match(disk.device or "") else _FITS
