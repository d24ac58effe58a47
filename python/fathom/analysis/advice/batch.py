"""What a larger transaction costs beside what it gains: a batch is one unit of failure."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.analysis.advice.rule import Material, Rule
from fathom.analysis.model import Comparison, Verdict
from fathom.analysis.variants import Variant, label, resolved
from fathom.finding import Evidence, Finding, Remedy, Severity

_BETTER = (Verdict.FASTER, Verdict.FASTER_SMALL)


def find(material: Material) -> Iterator[Finding]:
    """One finding for the best variant whose transactions hold more rows than its baseline's."""
    found = [one for one in material.analysis.comparisons if one.verdict in _BETTER and _larger(one, material)]
    if not found:
        return
    best = max(found, key=lambda one: one.ratio.value if one.ratio is not None else 0.0)
    who = label(best.variant, material.study, apart_from=best.baseline)
    rows = _transaction(material, best.variant)
    unit = "the whole batch" if rows == "whole-batch" else f"{rows} rows"
    yield Finding(
        "batch",
        who,
        f"{who}: {unit} become one unit of failure.",
        Severity.NOTE,
        0.95,
        (
            Evidence(
                f"An error in one row, or a crash before the commit, takes {unit}; one row per transaction loses one."
            ),
            Evidence("Until the commit its locks are held and the log it needs for a rollback cannot be reused."),
        ),
        remedies=(
            Remedy(
                "Commit every few hundred or thousand rows, so that a rollback stays short, and let the job be able to "
                "go on where it stopped.",
                risk="Readers see a batch that is done in part.",
                verify="Stop the job in the middle and start it again: every row is there once.",
            ),
        ),
    )


def _larger(comparison: Comparison, material: Material) -> bool:
    ours, theirs = (_rows(_transaction(material, side)) for side in (comparison.variant, comparison.baseline))
    return ours > theirs


def _transaction(material: Material, variant: Variant) -> object:
    """What the study sets; None where it leaves that to the workload."""
    return resolved(material.study, variant).get("settings", {}).get("workload", {}).get("transaction")


def _rows(transaction: object) -> float:
    """Rows of a transaction; 0 where the study says nothing of them."""
    if transaction == "whole-batch":
        return float("inf")
    if transaction == "per-row":
        return 1.0
    return float(transaction) if isinstance(transaction, int | float) else 0.0


RULE = Rule("batch", 37, find)
