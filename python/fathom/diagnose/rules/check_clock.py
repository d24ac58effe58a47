"""Q4: latencies of seconds that the queue contradicts come from a clock that jumps, as in virtual machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.words import seen, time
from fathom.diagnose.rule import LATENCY, QUEUE, RATE, Kind, Rule
from fathom.finding import Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Volumes with latencies that cannot be."""
    for disk in system.volumes:
        queue = np.fmax(disk.measured.get("outstanding_mean", disk.values("outstanding")), disk.values("outstanding"))
        latency, rate = disk.values("latency_s"), disk.values("iops")
        odd = (latency >= 1) & (rate * latency > 10 * np.maximum(queue, 0.1)) & (rate * disk.seconds >= 10)
        if odd.any():
            yield Finding(
                "Q4",
                disk.name,
                f"latencies up to {time(float(np.nanmax(latency[odd])))} with next to nothing outstanding "
                "cannot be: the machine's clock jumped",
                Severity.NOTE,
                0.7,
                (seen(disk, f"{odd.sum()} intervals.", odd),),
            )


RULE = Rule("Q4", "a steady clock", Kind.CHECK, (LATENCY, QUEUE, RATE), examine)
