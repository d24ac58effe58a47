"""What to do first: for the verdict's finding, for every sure cause, and for other findings that show harm."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from fathom.diagnose.diagnose import CERTAIN
from fathom.diagnose.rule import Kind, rules

if TYPE_CHECKING:
    from fathom.diagnose.diagnose import Diagnosis
    from fathom.finding import Finding, Remedy

MOST = 3


def actions(diagnosis: Diagnosis) -> list[tuple[Finding, Remedy]]:
    """At most three, each once, with the finding it follows from: the first of every finding before any second."""
    causes = {rule.id for rule in rules() if rule.kind is Kind.CAUSE}
    chosen = [f for f in diagnosis.findings if f.rule == diagnosis.verdict.rule]
    # Who waits is rarely logged: a cause that is sure is mended without.
    sure = [f for f in diagnosis.findings if f.rule in causes and f.confidence >= CERTAIN]
    chosen += [f for f in diagnosis.findings if f not in chosen and (f in sure or f.harm)]
    found: dict[Remedy, Finding] = {}
    for rank in zip_longest(*(f.remedies for f in chosen)):
        for finding, remedy in zip(chosen, rank, strict=True):
            if remedy is not None:
                found.setdefault(remedy, finding)
    return [(finding, remedy) for remedy, finding in found.items()][:MOST]
