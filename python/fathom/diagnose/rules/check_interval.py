"""Q2: means over long intervals hide bursts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.words import number, seen
from fathom.diagnose.rule import RATE, Kind, Rule
from fathom.finding import Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System

LONGEST_S = 15.0


def examine(system: System) -> Iterator[Finding]:
    """The coarsest volume."""
    coarse = max(system.volumes, key=lambda disk: disk.interval_s, default=None)
    if coarse is not None and coarse.interval_s > LONGEST_S * 1.2:
        yield Finding(
            "Q2",
            coarse.name,
            f"one value covers {number(coarse.interval_s)} s: bursts within are hidden, so record at 1 to 15 s "
            "to exclude them",
            Severity.NOTE,
            0.9,
            (seen(coarse, "The usual interval of the log."),),
        )


RULE = Rule("Q2", "short intervals", Kind.CHECK, (RATE,), examine)
