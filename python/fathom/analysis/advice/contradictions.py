"""Figures that contradict Little's law, and predictions that nothing was checked against."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.finding import Evidence, Finding, Remedy, Severity

_WITHIN = 0.10


def find(given: RuleInput) -> Iterator[Finding]:
    """At most one about audits and one about predictions."""
    failed = [audit for audit in given.analysis.audits if not audit.passed]
    if failed:
        yield Finding(
            "littles-law",
            failed[0].where,
            f"The figures of {failed[0].where} contradict Little's law or the stated size.",
            Severity.WARNING,
            0.95,
            (Evidence(failed[0].sentence),),
            remedies=(Remedy(f"Check {failed[0].where} before trusting its figures."),),
        )
    if given.campaign.clock != "virtual":
        return
    cells = given.analysis.predictions
    checked = [cell for cell in cells if cell.relative_error is not None and not cell.calibrated]
    wrong = [cell for cell in checked if abs(cell.relative_error or 0.0) > _WITHIN]
    unchecked = [cell for cell in cells if cell.published is None and cell.predicted is not None]
    if wrong:
        errors = [
            f"{cell.cell}: off by {(cell.relative_error or 0.0) * 100:+.0f} %".replace("-", "−") for cell in wrong
        ]
        yield Finding(
            "model-off",
            "model",
            f"The model missed {len(wrong)} of the {len(checked)} published figures it was checked against.",
            Severity.WARNING,
            0.9,
            tuple(Evidence(f"{text}.") for text in errors[:3]),
            harm="Its other predictions are likely to be off by as much." if unchecked else None,
            remedies=(Remedy("Correct the model before relying on its predictions."),),
        )
    elif unchecked:
        count = "unpublished cell" if len(unchecked) == 1 else f"{len(unchecked)} unpublished cells"
        yield Finding(
            "unchecked",
            "model",
            f"Predictions such as “{unchecked[0].cell}” rest on the model alone.",
            Severity.NOTE,
            0.7,
            (Evidence("A prediction is a reason to test, not a result."),),
            remedies=(Remedy(f"Measure one of the {count} before relying on any."),),
        )


RULE = Rule("contradictions", 80, find)
