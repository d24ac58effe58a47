"""D19: latency has two modes, so its mean describes neither."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.load import middle, worked
from fathom.diagnose.evidence.modes import modes
from fathom.diagnose.evidence.words import seen, share, time
from fathom.diagnose.rule import LATENCY, RATE, Kind, Rule
from fathom.finding import Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Every volume; modes that only follow the load are none."""
    for disk in system.volumes:
        latency, load = disk.values("latency_s"), disk.values("iops")
        chosen = worked(disk) & np.isfinite(latency) & (load * disk.seconds >= 10)
        found = modes(latency[chosen])
        if found is None:
            continue
        high = latency[chosen] > found.border_s
        rates = np.median(load[chosen][high]), np.median(load[chosen][~high])
        sizes = disk.values("size_bytes")[chosen]
        larger = middle(sizes[high]) / middle(sizes[~high])
        # Requests of another size take another time: no second mode of the same work.
        if max(rates) <= 1.5 * min(rates) and not (larger > 1.5 or larger < 1 / 1.5):
            yield Finding(
                "D19",
                disk.name,
                f"Latency of {disk.name} has two modes, {time(found.low_s)} and {time(found.high_s)}: its mean "
                "describes neither.",
                Severity.NOTE,
                0.6,
                (
                    seen(
                        disk,
                        f"{share(found.high_share)} of the intervals are in the slow mode, at the same rate "
                        f"(two log-normals beat one by {found.gain:.0f} in BIC).",
                        chosen,
                    ),
                ),
                None,
                "the modes are different directions of I/O",
                (
                    Remedy(
                        "Compare the slow intervals with path, node, cache hits and snapshots.", (), None, "One mode."
                    ),
                ),
            )


RULE = Rule("D19", "two modes of latency", Kind.CONTEXT, (RATE, LATENCY), examine)
