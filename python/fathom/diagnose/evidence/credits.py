"""Burst credits of a volume: the rate that they give, and what to take instead."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.azure_disks import NAMES, UPDATE, tier_for
from fathom.diagnose.evidence.commands import PAUSE
from fathom.diagnose.evidence.ebs import DISKS, MOST_MIB, TYPE, is_hdd, larger, size_for, type_of
from fathom.diagnose.evidence.load import middle
from fathom.diagnose.evidence.sold import is_in
from fathom.diagnose.evidence.surroundings import AWS
from fathom.diagnose.evidence.words import number
from fathom.finding import Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

BURST_IOPS = 3000.0
"""gp2's burst rate, with 5.4 million credits at 3 IOPS per GiB (Amazon EBS user guide)."""
SPENT_PERCENT = 2.0
"""A balance below it is spent: what comes back goes at once."""
_LEAST_MIB = 125
"""Throughput of gp3 as sold by default (Amazon EBS user guide)."""
_NEEDED = 95
"""Percentile of what was done while credits lasted that counts as needed."""

OTHER = Remedy(
    "Take a size or type whose rate does not depend on credits.",
    (),
    "Costs more.",
    "No step down in the slow time.",
)


def without_credits(system: System, disk: Device, lasted: Flags) -> Remedy:
    """The change to a volume that does, without credits, what this one did with them.

    Args:
        system: whose logs these are; outside of AWS no type is named.
        disk: the volume.
        lasted: the moments at which it had credits.
    """
    if is_in(system, "azure"):
        return _of_azure(system, disk, lasted)
    if AWS in system.ruled_out:
        return OTHER
    # The step from a burst rate that only gp2 has tells the type of a guest's disk.
    kind = type_of(system, disk) or (None if disk.has("burst_balance_percent") else "gp2")
    if is_hdd(kind):
        return _of_hdd(str(kind), middle(disk.values("bytes_per_s")[lasted], _NEEDED) / 2**20)
    iops, moved = (middle(disk.values(metric)[lasted], _NEEDED) for metric in ("iops", "bytes_per_s"))
    throughput, how, most = _LEAST_MIB, "", "half of what a large gp2 has: more is paid for"
    if moved > 0:
        # Rounded up to what people buy. At gp2's most this is below gp3's 0.25 MiB/s for each of 3,000 IOPS.
        throughput = min(MOST_MIB, max(_LEAST_MIB, math.ceil(moved / 2**20 / 25) * 25))
        needed = f"{number(min(iops, BURST_IOPS))} IOPS and {number(moved / 2**20)} MiB/s"
        how = f"; {needed} were needed while credits lasted"
        most = most if throughput > _LEAST_MIB else "which is enough here"
    told = kind == "gp2"
    change = "gp2 to gp3, whose rate does not depend on credits (or make gp2 at least 1 TiB)"
    return Remedy(
        f"Change {change}{how}." if told else f"See the volume's type. Change {change}; enlarge st1 or sc1{how}.",
        (
            *(() if told else (TYPE,)),
            f"aws ec2 modify-volume --volume-id vol-ID --volume-type gp3 --iops 3000 --throughput {throughput}"
            + ("" if told else " # gp2"),
        ),
        f"gp3 as sold by default has {_LEAST_MIB} MiB/s, {most}. Performance may differ while the change runs; EBS "
        f"{PAUSE}.",
        "No step down in the slow time.",
    )


def _of_azure(system: System, disk: Device, lasted: Flags) -> Remedy:
    """A performance tier that does without credits what the disk did with them."""
    iops, moved = (middle(disk.values(metric)[lasted], _NEEDED) for metric in ("iops", "bytes_per_s"))
    how = f": {number(iops)} IOPS were needed while credits lasted" if iops > 0 else ""
    tier = tier_for(system, iops, moved)
    return Remedy(
        f"Raise the disk's performance tier, whose rate does not depend on credits{how}. A standard SSD has no tier: "
        "take a larger one, or a premium SSD.",
        (NAMES, f"{UPDATE} --set tier={tier} # Premium SSD"),
        "Costs as much as a disk of that tier. A tier can be lowered once in 12 hours only. The machine may have a "
        "limit of its own.",
        "No step down in the slow time.",
    )


def _of_hdd(kind: str, needed_mib: float) -> Remedy:
    """What a hard disk without credits needs: its baseline is so many MiB/s for each TiB (Amazon EBS user guide)."""
    rates = [f"{each.baseline} MiB/s for each TiB of {name}" for name, each in DISKS.items() if name in kind]
    size = size_for(kind, needed_mib) if kind in DISKS else None
    how = f"; {number(needed_mib)} MiB/s were needed while credits lasted" if needed_mib > 0 else ""
    how += f", the baseline of {size:,} GiB" if size else ""
    return Remedy(
        f"Slow the job that spends the credits, or enlarge the volume ({kind}), whose baseline is {' and '.join(rates)}"
        f"{how}.",
        (larger(kind).replace("GIB", str(size or "GIB")),),
        f"A larger volume costs more and cannot be made smaller again. gp3 has no credits, but each GiB of it costs "
        f"more than one of {kind}: compare the prices of both. EBS {PAUSE}.",
        "The balance stays above zero.",
    )
