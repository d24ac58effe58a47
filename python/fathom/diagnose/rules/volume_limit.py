"""D5: a volume is at the limit that was bought: as the cloud says, or by a tight plateau at a known limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.azure_disks import ANY_TIER, NAMES, UPDATE
from fathom.diagnose.evidence.commands import PAUSE
from fathom.diagnose.evidence.ebs import is_hdd, larger, type_of
from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.partly import reached_in_part
from fathom.diagnose.evidence.sold import SURE, is_in, sold_there
from fathom.diagnose.evidence.stated import at_stated_limit
from fathom.diagnose.evidence.surroundings import AWS
from fathom.diagnose.evidence.throttle import FLAGS, USED, said_by_cloud, throttled
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import DISK_COLLECT, VOLUMES, Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System
    from fathom.diagnose.evidence.throttle import Throttle

_GCLOUD = (
    "gcloud compute disks describe DISK --zone ZONE",
    "gcloud compute disks update DISK --zone ZONE --provisioned-iops N --provisioned-throughput M # Hyperdisk",
    "gcloud compute disks resize DISK --zone ZONE --size GB # Persistent Disk",
)
_BY_SIZE = (
    " Google: pd-ssd has 30 IOPS and 0.48 MiB/s for each GiB, pd-balanced 6 and 0.28, and the machine has a limit by "
    "its type and processors for all of them together; Hyperdisk has what was bought."
)
"""Google Cloud, "About Persistent Disk performance" and "gcloud compute disks update"."""
_TIERS = {
    "Azure P4": "P6", "Azure P6": "P10", "Azure P10": "P15", "Azure P15": "P20", "Azure P20": "P30",
    "Azure P30": "P40", "Azure P60": "P70", "Azure P70": "P80",
}  # fmt: skip
"""The next performance tier of a Premium SSD, which has no other setting. Those from P60 need a disk above 4 TiB."""
_BURSTING = "Azure P40 or P50"
_LISTED = 0.6
"""Confidence below which a limit is one that no table has, or may be a chance: another may be known better."""
_LINK = Remedy(
    "See which speed the link to this storage has and whether all its paths are used; add paths or take a faster one.",
    (
        "Linux: ethtool INTERFACE | grep Speed; multipath -ll",
        "Get-NetAdapter | Select Name, LinkSpeed",
    ),
    "None to look. Paths are best changed while the others carry the load.",
    "The plateau is gone or higher, and latency falls.",
)
_LINK_OF_ESXI = replace(_LINK, commands=("esxcli network nic list", "esxcli storage core path list"))
_MORE = Remedy(
    "Raise the limit where it was set (the array's quality of service, the contract, a control group) by one step and "
    "compare, or send fewer requests (memory, indexes, compression).",
    (),
    "Others who share the storage get less of it.",
    "The plateau is gone or higher, and latency falls.",
)
_PACED = (
    ", or the application asks for just this rate: record a quieter time as well, or the cloud's counters of what "
    "exceeded the limit"
)


def examine(system: System) -> Iterator[Finding]:
    """Every volume; of a hypervisor's devices those alone that are at the rate of their link."""
    for disk in (*system.volumes, *system.of(Layer.HOST_DEVICE)):
        found = said_by_cloud(disk) or throttled(system, disk)
        if disk.layer is Layer.HOST_DEVICE:
            found = found if found is not None and found.link else None
        elif found is None or found.confidence < _LISTED:
            others = (at_stated_limit(system, disk), found, reached_in_part(system, disk))
            found = max((each for each in others if each is not None), key=lambda each: each.confidence, default=None)
        if found is None:
            continue
        harm = of_storage(system, disk)
        yield Finding(
            "D5",
            disk.name,
            f"{disk.name} {'is' if found.confidence >= SURE else 'may be'} "
            f"{'at the rate of its link' if found.link else 'throttled'}: {found.what}.",
            harm.severity,
            found.confidence,
            found.evidence,
            harm.sentence,
            "the rate rises above the plateau with the same load" + ("" if found.rose else _PACED),
            (_link(disk) if found.link else _step(system, disk, found),),
        )


def _link(disk: Device) -> Remedy:
    return _LINK_OF_ESXI if disk.layer is Layer.HOST_DEVICE else _LINK


def _step(system: System, disk: Device, found: Throttle) -> Remedy:
    """The next larger volume, of the cloud that has such a limit."""
    # No cloud has a disk of this name: whatever the number is, somebody else set it.
    if found.own or (found.cloud is not None and sold_there(system, disk, found.cloud) < SURE):
        return _MORE
    # EBS's pause between two changes is of no matter elsewhere.
    elsewhere = AWS in system.ruled_out or found.cloud in {"azure", "gcp"}
    kind = None if elsewhere else type_of(system, disk)
    return Remedy(
        "Buy one step more of what is short and compare, or send fewer requests (memory, indexes, compression)."
        + (_BY_SIZE if is_in(system, "gcp") else ""),
        (
            *((larger(kind),) if found.cloud in {None, "aws"} else ()),
            *(_of_azure(found) if found.cloud in {None, "azure"} else ()),
            *(_GCLOUD if found.cloud in {None, "gcp"} else ()),
        ),
        f"{_price(system, kind)}; the instance may have a limit of its own" + ("." if elsewhere else f"; EBS {PAUSE}."),
        "The plateau is gone or higher, and latency falls.",
    )


def _price(system: System, kind: str | None) -> str:
    """What the step costs (Amazon EBS user guide and price list, "gcloud compute disks resize")."""
    if kind == "gp2":
        return "gp3 costs less for each GiB than gp2, but IOPS above 3,000 and throughput above 125 MiB/s are paid for"
    grows = is_hdd(kind) or is_in(system, "gcp")
    return "Costs more, and a volume cannot be made smaller again" if grows else "Costs more"


def _of_azure(found: Throttle) -> Iterator[str]:
    """What sets the rate depends on the kind of disk: a tier for Premium SSD, figures for Ultra Disk and version 2."""
    yield NAMES
    if found.sold == _BURSTING:
        yield f"{UPDATE} --enable-bursting true"
    elif found.sold in _TIERS:
        yield f"{UPDATE} --set tier={_TIERS[found.sold]}"
    else:
        yield f"{UPDATE} --set tier={ANY_TIER} # Premium SSD"
        yield f"{UPDATE} --disk-iops-read-write N --disk-mbps-read-write M # Ultra Disk, Premium SSD v2"


_RATE_OR_USED = Need((*VOLUMES, Layer.HOST_DEVICE), ("iops", *USED, *FLAGS), DISK_COLLECT)
RULE = Rule("D5", "throttled volume", Kind.CAUSE, (_RATE_OR_USED,), examine)
