"""L2: a volume is slow, and the logs show no more of it than the layer that the time is in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.below import located
from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.load import FEWEST, busy, middle
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.rule import PATH_LATENCY, PATH_RATE, Kind, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System
_RECORD = Remedy(
    "Record the layer below in the same time and give both logs to `fathom diagnose`.",
    ("fathom record --print esxi", "fathom record --print aws", "fathom record --print azure"),
    None,
    "The findings name the layer.",
)


def examine(system: System) -> Iterator[Finding]:
    """Volumes beyond their kind's latency while requests queue."""
    for disk in system.nearest:
        chosen = busy(disk) & np.isfinite(disk.values("latency_s"))
        tier = tier_of(system, disk)
        latency = middle(disk.values("latency_s")[chosen])
        if chosen.sum() < FEWEST or not latency > tier.target_s:
            continue
        harm, found = of_storage(system), located(system, disk, chosen)
        where = "the logs do not show where below it the time goes" if found is None else found.where
        yield Finding(
            "L2",
            disk.name,
            f"{disk.name} is slow, {time(latency)}, and {where}.",
            harm.severity,
            0.45 if found is None else 0.55,
            (
                seen(
                    disk,
                    f"{time(latency)} at {number(middle(disk.load[chosen]))} outstanding and "
                    f"{number(middle(disk.values('iops')[chosen]))} IOPS; a {tier.name} should keep "
                    f"{time(tier.target_s)}.",
                    chosen,
                ),
                *(() if found is None else found.evidence),
            ),
            harm.sentence,
            "the latency is what this kind of storage has under this load",
            (_RECORD,) if found is None else found.remedies,
        )


RULE = Rule("L2", "slow volume of unknown cause", Kind.CAUSE, (PATH_RATE, PATH_LATENCY), examine)
