"""Q3: latency of reads and writes together cannot tell slow reads from checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.rule import LATENCY, Kind, Rule
from fathom.finding import Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Disks with one latency only."""
    together = [
        d.name
        for d in system.volumes
        if d.has("latency_s") and not any(d.has(f"{way}_latency_s") for way in ("read", "write"))
    ]
    if together:
        yield Finding(
            "Q3",
            together[0],
            "only the latency of reads and writes together was recorded: collect Avg. Disk sec/Read and "
            "sec/Write (r_await and w_await)",
            Severity.NOTE,
            0.9,
        )


RULE = Rule("Q3", "reads apart from writes", Kind.CHECK, (LATENCY,), examine)
