"""D23: the file system's allocation unit. It sets how files grow, not how requests are made, and is never a cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.rule import Kind, Rule
from fathom.finding import Evidence, Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Volumes whose allocation unit a log tells."""
    for fact in system.facts:
        if fact.name == "allocation_unit_bytes" and fact.value != "65536":
            yield Finding(
                "D23",
                fact.subject or "volume",
                f"The allocation unit is {fact.value} bytes, not the 65,536 of checklists: this explains no latency.",
                Severity.NOTE,
                0.2,
                (
                    Evidence(
                        "Requests do not follow the allocation unit; it matters for growth of files and for metadata."
                    ),
                ),
                None,
                "sizes of requests equal the allocation unit",
            )


RULE = Rule("D23", "allocation unit", Kind.CONTEXT, (), examine)
