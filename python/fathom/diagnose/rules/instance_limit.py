"""D6: the instance's or virtual machine's limit for all its volumes together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.surroundings import AZURE, SQL_SERVER
from fathom.diagnose.evidence.throttle import said_by_cloud, together
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System

_COLLECT = "fathom record --print aws (EBSIOBalance%, InstanceEBSIOPSExceededCheck) or --print azure"


def examine(system: System) -> Iterator[Finding]:
    """As the cloud says, else by the sum over volumes."""
    harm = of_storage(system)
    named = [
        (instance.name, found) for instance in system.of(Layer.CLOUD_INSTANCE) if (found := said_by_cloud(instance))
    ]
    found = together(system)
    for name, throttle in named or ([("all volumes", found)] if found else []):
        yield Finding(
            "D6",
            name,
            f"The instance's own limit is reached, not a volume's: {throttle.what}.",
            harm.severity,
            throttle.confidence,
            throttle.evidence,
            harm.sentence,
            "a single volume is at a limit of its own",
            (
                Remedy(
                    _action(system.ruled_out),
                    (
                        "aws ec2 modify-instance-attribute --instance-id i-ID --instance-type TYPE",
                        "az vm resize --resource-group GROUP --name VM --size SIZE",
                    ),
                    "A restart.",
                    "Volumes reach their own limits; balances stay above 20 %.",
                ),
            ),
        )


def _action(out: frozenset[str]) -> str:
    said = ["Take a larger instance"]
    said += [] if AZURE in out else ["on Azure use the host's read cache for data disks and none for the log"]
    said += [] if SQL_SERVER in out else ["put tempdb on the local disk"]
    return "; ".join(said) + "."


RULE = Rule(
    "D6",
    "throttled instance",
    Kind.CAUSE,
    (
        Need(
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
