"""L3: what sessions wait for most, storage or not: a small part of all waiting must not seem the whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.harm import LEAST_SESSIONS, ranked
from fathom.diagnose.evidence.words import number, share
from fathom.diagnose.rule import WAITS, Kind, Rule
from fathom.finding import Evidence, Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System

_NAMED = 4
"""Waits that the evidence names."""


def examine(system: System) -> Iterator[Finding]:
    """One finding, or none where hardly anybody waits."""
    waits = ranked(system)
    total = sum(mean for _, mean in waits)
    if total < LEAST_SESSIONS:
        return
    name, most = waits[0]
    each = "; ".join(f"{word} {number(mean)} ({share(mean / total)})" for word, mean in waits[:_NAMED] if mean > 0)
    yield Finding(
        "L3",
        "sessions",
        f"Sessions wait most in {name}: {number(most)} on average, {share(most / total)} of all waiting.",
        Severity.NOTE,
        0.6,
        (Evidence(f"Sessions that wait, on average: {each}."),),
    )


RULE = Rule("L3", "largest wait", Kind.CONTEXT, (WAITS,), examine)
