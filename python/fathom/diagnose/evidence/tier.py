"""Which kind of storage a device is, and therefore which latency to expect."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.limits import Tier
    from fathom.diagnose.evidence.system import System

_CLOUD = re.compile(r"Elastic Block|EBS|Google|PersistentDisk|Azure|Msft Virtual", re.I)
_UNKNOWN = "disk of unknown kind"
"""In sentences: a log that does not tell the kind must not seem to."""
_ROTATING = {"st1", "sc1", "standard"}


def tier_of(system: System, device: Device) -> Tier:
    """The tier by the facts of the logs; what is not known has the target of a cloud volume, the usual middle."""
    tiers = {tier.name: tier for tier in system.limits.tiers}
    kind = system.fact("volume_type", device.device)
    if kind in _ROTATING:
        return tiers["rotating disk"]
    if device.layer is Layer.CLOUD_VOLUME or kind:
        return tiers["cloud volume"]
    model = system.fact("model", device.device) or ""
    if (device.device or "").startswith("nvme") and model and not _CLOUD.search(model):
        return tiers["local NVMe"]
    return tiers["cloud volume"] if _CLOUD.search(model) else replace(tiers["cloud volume"], name=_UNKNOWN)
