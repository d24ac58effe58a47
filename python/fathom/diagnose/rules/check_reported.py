"""Q11: SQL Server reports requests over 15 s that no log shows: where none tells what their disk did then, nothing
clears it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.reported import hidden, unseen
from fathom.diagnose.rule import Kind, Rule
from fathom.finding import Evidence, Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System
    from fathom.diagnose.long_requests import LongRequests

_RECORD = Remedy(
    "Record the disk of this file and the server's statistics in the slow time.",
    ("fathom record --print windows", "fathom record --print sqlserver"),
    None,
    "The logs have samples of this disk when the next message comes.",
)


def examine(system: System) -> Iterator[Finding]:
    """One finding for each file and what the samples say of it."""
    yield from _findings(unseen(system), "no log tells what the disk did then", Severity.WARNING)
    yield from _findings(hidden(system), "no sample of the disk shows them: look above it", Severity.NOTE)


def _findings(found: list[LongRequests], words: str, severity: Severity) -> Iterator[Finding]:
    for file in dict.fromkeys(each.file for each in found):
        mine = [each for each in found if each.file == file]
        count, times = sum(each.requests for each in mine), [each.at_ns for each in mine if each.at_ns is not None]
        span = (min(times, default=None), max(times, default=None))
        yield Finding(
            "Q11",
            file,
            f"SQL Server reports {count:,} requests over 15 s (message 833), and {words}",
            severity,
            0.95,
            (Evidence(f"Message 833: {count:,} requests took over 15 s.", file, *span),),
            None,
            "the logs are of another server",
            (_RECORD,),
        )


RULE = Rule("Q11", "no requests that hung unseen", Kind.CHECK, (), examine)
