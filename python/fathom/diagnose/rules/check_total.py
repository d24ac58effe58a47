"""Q7: only the sum over all disks was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.rule import DISKS, RATE, Kind, Rule
from fathom.diagnose.windows import TOTAL
from fathom.finding import Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Hosts whose one device is the total."""
    totals = [device for device in system.of(*DISKS) if device.device == TOTAL]
    if totals:
        yield Finding(
            "Q7",
            totals[0].name,
            "only the sum over all disks was recorded (_Total), which hides a slow disk among idle ones: "
            r"collect \PhysicalDisk(*)\*",
            Severity.WARNING,
            0.95,
        )


RULE = Rule("Q7", "every disk by itself", Kind.CHECK, (RATE,), examine)
