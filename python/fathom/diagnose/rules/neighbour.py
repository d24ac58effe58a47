"""D20: latency rises for a while although the volume's own load does not: a neighbour uses the same storage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.unexplained import unexplained
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.rule import LATENCY, RATE, Kind, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Every disk."""
    for disk in system.volumes:
        found = unexplained(disk)
        if found is None:
            continue
        harm = of_storage(system)
        yield Finding(
            "D20",
            disk.name,
            f"Latency of {disk.name} rises from {time(found.usual_s)} to {time(found.slow_s)} at no more load of its "
            "own: something else slows it.",
            harm.severity,
            0.65,
            (
                seen(
                    disk,
                    f"{number(found.slow_iops)} IOPS in the slow time, {number(found.usual_iops)} otherwise; "
                    "sizes and the share of writes are the same.",
                    found.chosen,
                ),
            ),
            harm.sentence,
            "a path failed over, or the array rebuilt or took a snapshot then",
            (
                Remedy(
                    "Ask the storage team what else ran at these times; limit or move it.",
                    (),
                    "Limits slow the other user down.",
                    "Latency at these times is the usual one.",
                ),
            ),
        )


RULE = Rule("D20", "noisy neighbour", Kind.CAUSE, (RATE, LATENCY), examine)
