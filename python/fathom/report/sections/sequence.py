"""A sequence of virtual users: every step, the figure over the users for all variants, the improvement per level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fathom.analysis.variants import Variant
from fathom.analysis.variants import label as label_of
from fathom.metrics import Metric
from fathom.report import cells
from fathom.report.charts import load as chart
from fathom.report.context import Context
from fathom.report.document import Block, Cell, Chart, Column, Table
from fathom.report.format import number
from fathom.report.section import Section
from fathom.report.style.marks import Look

if TYPE_CHECKING:
    from fathom.analysis.sequence import AtUsers

_MOST_SERIES = 7
_STEPS = (
    Column("variant", "Variant"),
    cells.values("round", "Round"),
    cells.values("step", "Step"),
    cells.values("users", "Users"),
    cells.values("value", "Figure"),
    cells.values("p95_ms", "95 % within, ms"),
    Column("counts", "Counts"),
)
_RATIO = Metric("ratio", "improvement over the baseline (Cpi)", "×", True)


def build(context: Context) -> Sequence[Block]:
    """Tables and charts; nothing where no run has a sequence."""
    from fathom.analysis.sequence import at_users, steps

    rows = tuple(_rows(context))
    if not rows:
        return []
    title = next(step.title for run in context.ok_runs for step in steps(run))
    seed = context.campaign.seed
    levels = [(variant, at_users(context.runs(variant), seed=seed)) for variant in context.variants]
    known = [(variant, found) for variant, found in levels if found][:_MOST_SERIES]
    blocks: list[Block] = [_over_users(context, Metric("figure", title, "", True), known)]
    blocks += _improvement(context, seed)
    note = "The first run of a sequence finds cold caches and is discarded; equal levels of a round are averaged."
    blocks.append(Table("sequence", "Every step", _STEPS, rows, note, collapsed=len(rows) > 20))
    return blocks


def _rows(context: Context) -> Iterator[tuple[Cell, ...]]:
    from fathom.analysis.sequence import steps

    for variant in context.variants:
        for run in context.runs(variant):
            for step in steps(run):
                yield (
                    cells.text(context.label(variant)),
                    cells.whole(run.round),
                    cells.whole(step.number),
                    cells.whole(step.users),
                    cells.plain_number(step.value, 6),
                    cells.quantity(step.p95_ms, "ms"),
                    cells.text("discarded" if step.discarded else "yes"),
                )


def _over_users(context: Context, metric: Metric, known: Sequence[tuple[Variant, Sequence[AtUsers]]]) -> Chart:
    series = [
        _series(Look(context.label(variant) or metric.label, place), found)
        for place, (variant, found) in enumerate(known)
    ]
    panel = chart.LoadPanel(metric, tuple(series))
    caption = "All variants over the virtual users. Marks are rounds, lines join the means, bars are 95 % intervals."
    return Chart("sequence-values", caption, _alt(panel), lambda: chart.draw("virtual users", [panel]))


def _improvement(context: Context, seed: int) -> list[Block]:
    from fathom.analysis.sequence import improvement

    compared = [
        (one, improvement(context.runs(one.variant), context.runs(one.baseline), seed=seed))
        for one in context.analysis.comparisons
        if not one.averaged
    ]
    compared = [(one, found) for one, found in compared if found[0]][: _MOST_SERIES - 1]
    if not compared:
        return []
    names = [label_of(one.variant, context.campaign.study, one.baseline) for one, _ in compared]
    columns = [Column("users", "Virtual users")]
    for place, name in enumerate(names, 1):
        columns += [cells.values(f"ratio_{place}", name), Column(f"interval_{place}", "Interval")]
    levels = sorted({at.users for _, (found, _) in compared for at in found})
    rows = []
    for users in levels:
        row = [next((at for at in found if at.users == users), None) for _, (found, _) in compared]
        rows.append((cells.whole(users), *(cell for at in row for cell in _pair(at))))
    rows.append((cells.text("mean (Cpi)"), *(cell for _, (_, mean) in compared for cell in _pair(mean))))
    note = "Above 1 × the variant is better; the mean is that of a round's ratios over the levels, with 95 % intervals."
    table = Table("sequence-improvement", "Improvement at each number of users", tuple(columns), tuple(rows), note)
    series = [
        _series(Look(name, place), found)
        for place, (name, (_, (found, _))) in enumerate(zip(names, compared, strict=True), 1)
    ]
    panel = chart.LoadPanel(_RATIO, tuple(series))
    caption = "Marks are rounds, the line joins the geometric means, bars are their 95 % intervals. The baseline is 1."
    drawn = Chart("sequence-ratio", caption, _alt(panel), lambda: chart.draw("virtual users", [panel]))
    return [table, drawn]


def _pair(at: AtUsers | None) -> tuple[Cell, Cell]:
    estimate = None if at is None else at.estimate
    return cells.plain_number(None if estimate is None else estimate.value), cells.ratio_interval(estimate)


def _series(look: Look, found: Sequence[AtUsers]) -> chart.LoadSeries:
    points = tuple((float(at.users), number, value) for at in found for number, value in at.points)
    means = tuple((float(at.users), at.estimate) for at in found if at.estimate is not None)
    return chart.LoadSeries(look, points, means)


def _alt(panel: chart.LoadPanel) -> str:
    parts = [
        f"{series.look.label}: "
        + ", ".join(f"{x:g}: {number(mean.value, panel.metric.unit)}" for x, mean in series.means)
        for series in panel.series
    ]
    return f"{panel.metric.label} over virtual users. " + "; ".join(parts) + "."


SECTION = Section("sequence", "A sequence of virtual users", 46, ("ok_runs",), build)
