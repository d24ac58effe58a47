"""The one kind of finding: what is so, how it is known, what it harms, and what to do about it.

Rules make findings, one rule a file (`diagnose/rules`, `analysis`, `probe`); report, terminal and JSON place them and
add nothing. A finding without harm is information: storage that is slow and and delays no work costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much users are harmed, not how large a number is."""

    CRITICAL = "critical"
    WARNING = "warning"
    NOTE = "note"
    GOOD = "good"


@dataclass(frozen=True)
class Evidence:
    """One observation behind a finding.

    Attributes:
        sentence: the observation with its numbers and units.
        where: device, file or run it was made at.
        start_ns, end_ns: the time range in UTC, nanoseconds since 1970; None where there is none.
    """

    sentence: str
    where: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None


@dataclass(frozen=True)
class Remedy:
    """What to do, exactly.

    Attributes:
        action: the step as an instruction.
        commands: commands or settings to copy, one a line; empty where none applies.
        risk: what the step may cost or break; None if it cannot.
        verify: how to see that it worked.
    """

    action: str
    commands: tuple[str, ...] = ()
    risk: str | None = None
    verify: str | None = None


@dataclass(frozen=True)
class Finding:
    """One conclusion of one rule.

    Attributes:
        rule: the rule's identifier, stable between versions ("D1").
        subject: what it is about: a device, a volume, a setting, the log.
        what: the conclusion in one sentence.
        severity: how much it harms.
        confidence: 0 to 1.
        evidence: the strongest observation first.
        harm: who waits, and how long; None where nothing shows harm.
        refuted_by: what would prove the finding wrong.
        remedies: the preferred one first.
    """

    rule: str
    subject: str
    what: str
    severity: Severity
    confidence: float
    evidence: tuple[Evidence, ...] = ()
    harm: str | None = None
    refuted_by: str | None = None
    remedies: tuple[Remedy, ...] = ()
