"""Q10: latencies that are longer than the log: damage, which is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.words import length, seen, time
from fathom.diagnose.rule import PATH_RATE_OR_QUEUE, Kind, Rule
from fathom.finding import Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Every device that had such values."""
    for device in system.devices:
        found = device.impossible
        if found is None:
            continue
        many = int(found.chosen.sum())
        yield Finding(
            "Q10",
            device.name,
            f"latencies up to {time(found.longest_s)} cannot be in a log of {length(found.length_s)}: damaged numbers; "
            f"{many:,} of {len(found.chosen):,} intervals are left out",
            Severity.WARNING,
            0.9,
            (seen(device, f"{many:,} intervals.", found.chosen),),
        )


RULE = Rule("Q10", "no impossible latency", Kind.CHECK, (PATH_RATE_OR_QUEUE,), examine)
