"""What to do first: the remedies of the verdict's finding, then those of other findings that show harm."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathom.diagnose.diagnose import Diagnosis
    from fathom.finding import Finding, Remedy

MOST = 3


def actions(diagnosis: Diagnosis) -> list[tuple[Finding, Remedy]]:
    """At most three, each once, with the finding it follows from."""
    chosen = [f for f in diagnosis.findings if f.rule == diagnosis.verdict.rule and f.remedies]
    chosen += [f for f in diagnosis.findings if f not in chosen and f.remedies and f.harm]
    found: dict[Remedy, Finding] = {}
    for finding in chosen:
        for remedy in finding.remedies:
            found.setdefault(remedy, finding)
    return [(finding, remedy) for remedy, finding in found.items()][:MOST]
