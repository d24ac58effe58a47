"""D6: the instance's or virtual machine's limit for all its volumes together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.sold import is_rented
from fathom.diagnose.evidence.surroundings import AWS, AZURE, GCP, SQL_SERVER
from fathom.diagnose.evidence.throttle import said_by_cloud, shared, together
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System
    from fathom.diagnose.evidence.throttle import Throttle

_COMMON = Remedy(
    "Look for what these disks have in common: limits of the virtual machine, the queue of their adapter, their path.",
    (
        "Get-CimInstance Win32_DiskDrive | Select DeviceID, SCSIPort, SCSIBus, SCSITargetId",
        "Linux: lsblk -o NAME,HCTL,TRAN; cat /sys/class/scsi_host/host*/can_queue",
    ),
    "None to look.",
    "The sum of the disks rises above the old one.",
)
_STOPPED = (
    "On AWS the instance has to be stopped: minutes without service, its local disks (instance store) are empty "
    "afterwards, and a public address that is no Elastic IP changes."
)
_RESIZED = "On Azure the machine restarts, and its temporary disk may be empty afterwards."
_STOPPED_TOO = "On Google Cloud the machine has to be stopped, and its local SSDs are lost."
_TEMPDB = "If tempdb is on the local disk, SQL Server starts only once the disk and its folder are there again."
_COLLECT = "fathom record --print aws (EBSIOBalance%, InstanceEBSIOPSExceededCheck) or --print azure"


def examine(system: System) -> Iterator[Finding]:
    """As the cloud says, else by the sum over volumes."""
    named = [
        (instance.name, found) for instance in system.of(Layer.CLOUD_INSTANCE) if (found := said_by_cloud(instance))
    ]
    found = together(system)
    sure = named or ([("all volumes", found)] if found else [])
    for name, throttle in sure:
        what = f"The instance's own limit is reached, not a volume's: {throttle.what}."
        yield _finding(system, name, what, throttle, (_larger(system),))
    common = None if sure else shared(system)
    if common is not None:
        throttle, disks = common
        rented = is_rented(system)
        whose = "the instance" if rented else "the virtual machine, an adapter or a path"
        names = ", ".join(disk.name for disk in disks[:4])
        what = f"A limit that {names} share is reached, as {whose} has: {throttle.what}."
        yield _finding(system, "all volumes", what, throttle, (_larger(system),) if rented else (_COMMON,))


def _finding(system: System, name: str, what: str, found: Throttle, remedies: tuple[Remedy, ...]) -> Finding:
    harm = of_storage(system)
    return Finding(
        "D6",
        name,
        what,
        harm.severity,
        found.confidence,
        found.evidence,
        harm.sentence,
        "a single volume is at a limit of its own",
        remedies,
    )


def _larger(system: System) -> Remedy:
    out = system.ruled_out
    risks = [risk for cloud, risk in ((AWS, _STOPPED), (AZURE, _RESIZED), (GCP, _STOPPED_TOO)) if cloud not in out]
    return Remedy(
        _action(out),
        (
            "aws ec2 stop-instances --instance-ids i-ID && aws ec2 wait instance-stopped --instance-ids i-ID",
            "aws ec2 modify-instance-attribute --instance-id i-ID --instance-type TYPE",
            "aws ec2 start-instances --instance-ids i-ID",
            "az vm resize --resource-group GROUP --name VM --size SIZE",
            "gcloud compute instances stop VM --zone ZONE",
            "gcloud compute instances set-machine-type VM --zone ZONE --machine-type TYPE",
            "gcloud compute instances start VM --zone ZONE",
        ),
        " ".join(risks + ([] if SQL_SERVER in out else [_TEMPDB])) or None,
        "Volumes reach their own limits; balances stay above 20 %.",
    )


def _action(out: frozenset[str]) -> str:
    said = ["Take a larger instance"]
    said += [] if AZURE in out else ["on Azure use the host's read cache for data disks and none for the log"]
    said += [] if SQL_SERVER in out else ["put tempdb on the local disk"]
    return "; ".join(said) + "."


class _OfTwo(Need):
    """Met by two volumes of a cloud as well: what they do together tells of the instance, what one does does not."""

    def met(self, system: System) -> bool:
        return super().met(system) or len(system.of(Layer.CLOUD_VOLUME)) > 1


RULE = Rule(
    "D6",
    "throttled instance",
    Kind.CAUSE,
    (
        _OfTwo(
            (Layer.CLOUD_INSTANCE, Layer.GUEST_DISK, Layer.GUEST_VOLUME),
            (
                "iops",
                "iops_exceeded",
                "bytes_exceeded",
                "iops_balance_percent",
                "bytes_balance_percent",
                "uncached_iops_used_percent",
                "cached_iops_used_percent",
            ),
            _COLLECT,
        ),
    ),
    examine,
)
