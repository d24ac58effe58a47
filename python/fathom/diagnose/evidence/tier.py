"""Which kind of storage a device is, and therefore which latency to expect."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from fathom.diagnose.linux import disk_of
from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.limits import Tier
    from fathom.diagnose.evidence.system import System

_CLOUD = re.compile(r"Elastic Block|EBS|Google|PersistentDisk|Azure|Msft Virtual", re.I)
_UNKNOWN = "disk of unknown kind"
"""In sentences: a log that does not tell the kind must not seem to."""
_ROTATING = {"st1", "sc1", "standard"}
_MAKERS = re.compile(
    r"(?:ATA +)?(?:ST\d{3}|WDC? |WD\d|HGST|HUS|HUH|Hitachi|SEAGATE|TOSHIBA|MG\d\d|MB\d{4}|AL\d\d)", re.I
)
"""Models of single disks. Where the kernel sees a RAID controller or a hypervisor, its word on rotation is a guess."""


def tier_of(system: System, device: Device) -> Tier:
    """The tier as the user says, else by the facts of the logs; what is not known has the target of a cloud volume, the
    usual middle.
    """
    tiers = {tier.name: tier for tier in system.limits.tiers}
    said = {fact.subject: fact.value for fact in system.facts if fact.name == "tier"}
    told = said.get(device.device, said.get(None))
    if told in tiers:
        return tiers[told]
    kind = system.fact("volume_type", device.device)
    if kind in _ROTATING:
        return tiers["rotating disk"]
    if device.layer is Layer.CLOUD_VOLUME or kind:
        return tiers["cloud volume"]
    if device.layer is Layer.GUEST_DISK and device.device and _rotates(system, device.device):
        return tiers["rotating disk"]
    model = system.fact("model", device.device) or ""
    if (device.device or "").startswith("nvme") and model and not _CLOUD.search(model):
        return tiers["local NVMe"]
    return tiers["cloud volume"] if _CLOUD.search(model) else replace(tiers["cloud volume"], name=_UNKNOWN)


def _rotates(system: System, name: str) -> bool:
    """Whether a disk, or every disk below a device of md or the device mapper, is known to rotate."""
    facts = {(fact.name, fact.subject): fact.value for fact in system.facts}
    below = facts.get(("members", name), "").split(",") if ("members", name) in facts else []
    disks = [disk_of(each) or each for each in below] or [name]
    return all(
        facts.get(("rotational", each)) == "yes" and _MAKERS.match(facts.get(("model", each), "")) for each in disks
    )
