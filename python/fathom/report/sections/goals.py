"""Goals: which limits of the study were kept, by variant."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.goals import Outcome, outcomes
from fathom.metrics import metric
from fathom.report import cells
from fathom.report.context import Context
from fathom.report.document import Block, Cell, Column, Table, Tone
from fathom.report.format import quantity
from fathom.report.plain import capital
from fathom.report.section import Section


def build(context: Context) -> Sequence[Block]:
    """One table, missed goals first."""
    found = sorted(outcomes(context.campaign), key=lambda outcome: outcome.passed)
    if not found:
        return []
    columns = (
        Column("variant", "Variant"),
        Column("metric", "Metric"),
        Column("goal", "Goal"),
        Column("worst", "Worst run", numeric=True),
        Column("runs_met", "Runs within", numeric=True),
        Column("passed", "Outcome"),
    )
    missed = sum(not outcome.passed for outcome in found)
    caption = f"{missed} of {len(found)} goals missed" if missed else f"All {len(found)} goals met"
    note = "A goal is met if every run is within it; a failed run is not."
    unanswered = max((outcome.unanswered or 0.0 for outcome in found), default=0.0)
    if unanswered:
        note += (
            f" A latency is that of completed requests: it meets no limit where more arrivals got no answer than it"
            f" may leave out (up to {unanswered:.0%} here)."
        )
    return [Table("goals", caption, columns, tuple(_row(context, outcome) for outcome in found), note)]


def _row(context: Context, outcome: Outcome) -> tuple[Cell, ...]:
    known = metric(outcome.goal.metric)
    worst = outcome.worst
    return (
        cells.text(context.label(outcome.variant)),
        cells.text(capital(known.label)),
        cells.text(outcome.goal.text),
        cells.text(None) if worst is None else Cell(quantity(worst, known.unit), worst),
        Cell(f"{outcome.met} of {outcome.runs}", outcome.met),
        Cell("met", True, Tone.GOOD) if outcome.passed else Cell("missed", False, Tone.BAD),
    )


SECTION = Section("goals", "Goals", 15, ("runs",), build)
