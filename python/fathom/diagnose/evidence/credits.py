"""Burst credits of a volume: the rate that they give, and what to take instead."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.commands import PAUSE
from fathom.diagnose.evidence.load import middle
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
_LEAST_MIB, MOST_MIB = 125, 250
"""Throughput of gp3 as sold by default, and the most that a gp2 had (Amazon EBS user guide)."""
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
    if AWS in system.ruled_out:
        return OTHER
    iops, moved = (middle(disk.values(metric)[lasted], _NEEDED) for metric in ("iops", "bytes_per_s"))
    throughput, how = _LEAST_MIB, ""
    if moved > 0:
        # Rounded up to what people buy. At gp2's most this is below gp3's 0.25 MiB/s for each of 3,000 IOPS.
        throughput = min(MOST_MIB, max(_LEAST_MIB, math.ceil(moved / 2**20 / 25) * 25))
        needed = f"{number(min(iops, BURST_IOPS))} IOPS and {number(moved / 2**20)} MiB/s"
        how = f"; {needed} were needed while credits lasted"
    return Remedy(
        f"Change gp2 to gp3, whose rate does not depend on credits (or make gp2 at least 1 TiB){how}.",
        (f"aws ec2 modify-volume --volume-id vol-ID --volume-type gp3 --iops 3000 --throughput {throughput}",),
        f"gp3 as sold by default has {_LEAST_MIB} MiB/s, half of what a large gp2 has: more is paid for. Performance "
        f"may differ while the change runs; EBS {PAUSE}.",
        "No step down in the slow time.",
    )
