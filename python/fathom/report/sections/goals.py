"""Goals: which limits of the study were kept, by variant."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis.variants import place
from fathom.analysis.words import capital, left_out
from fathom.goals import Outcome, outcomes
from fathom.metrics import metric
from fathom.report import cells
from fathom.report.context import Context
from fathom.report.document import Block, Cell, Column, Table, Tone
from fathom.report.format import quantity
from fathom.report.section import Section
from fathom.unanswered import STANDSTILL

_MOST = 12
"""Rows that are open: the verdict says in words what became of more."""


def build(context: Context) -> Sequence[Block]:
    """One table, missed goals first."""
    study = context.campaign.study
    over = [one.variant for one in context.analysis.overloads]
    found = sorted(outcomes(context.campaign, over), key=lambda one: (one.passed, place(one.variant, study)))
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
    untold = sum(outcome.untold for outcome in found)
    missed = sum(not outcome.passed for outcome in found) - untold
    if len(found) == 1:
        caption = "The goal cannot be judged" if untold else "The goal is missed" if missed else "The goal is met"
    elif untold and not missed:
        caption = f"{untold} of {len(found)} goals cannot be judged"
    elif missed:
        caption = f"{missed} of {len(found)} goals missed"
    else:
        caption = "Both goals met" if len(found) == 2 else f"All {len(found)} goals met"
    note = "A goal is met if every run is within it; a failed run is not."
    if any(outcome.repeated for outcome in found):
        note += " Runs that failed first and were repeated count by the further attempt."
    missing = max((o.left_out for o in found if o.left_out is not None), key=lambda one: one.share, default=None)
    if missing is not None:
        note += (
            " A latency is that of completed requests: it meets no limit where it leaves out more than it may"
            f" (in the worst run, {left_out(missing)})."
        )
    if any(outcome.few is not None for outcome in found):
        note += " A percentile of all runs needs ten requests beyond it: a 99th 1,000 in all, a 99.9th 10,000."
    if any(outcome.untold and outcome.late is not None for outcome in found):
        note += (
            " A limit that was missed while most of the latency was the lateness of the load generator cannot be"
            " judged: what the storage alone would have done is not known."
        )
    if any(outcome.kept and not outcome.sustained for outcome in found):
        note += " A load that is not sustained misses its goals: its queue grows for as long as that lasts."
    if any(outcome.goal.metric == STANDSTILL and not outcome.passed for outcome in found):
        note += " A goal on a latency is also one on standstills, unless the study sets a limit on them."
    rows = tuple(_row(context, outcome) for outcome in found)
    return [Table("goals", caption, columns, rows, note, collapsed=len(rows) > _MOST)]


def _row(context: Context, outcome: Outcome) -> tuple[Cell, ...]:
    known = metric(outcome.goal.metric)
    worst = outcome.worst
    return (
        cells.text(context.label(outcome.variant)),
        cells.text(capital(known.label)),
        cells.text(outcome.goal.text),
        _worst(outcome, quantity(worst, known.unit) if worst is not None else ""),
        Cell(f"{outcome.met} of {outcome.runs}", outcome.met),
        _became(outcome),
    )


def _became(outcome: Outcome) -> Cell:
    if outcome.untold:
        return Cell("cannot be judged", False, Tone.WARN)
    if outcome.kept and not outcome.sustained:
        return Cell("not sustained", False, Tone.BAD)
    if outcome.passed and outcome.repeated:
        return Cell("met with repeated runs", True, Tone.WARN)
    return Cell("met", True, Tone.GOOD) if outcome.passed else Cell("missed", False, Tone.BAD)


def _worst(outcome: Outcome, said: str) -> Cell:
    cell = Cell(said, outcome.worst) if said else cells.text(None)
    return cells.at_least(cell) if outcome.left_out is not None else cell


SECTION = Section("goals", "Goals", 15, ("runs",), build)
