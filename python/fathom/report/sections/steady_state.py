"""Whether each run settled, what was cut at its start, and where its level changed."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis.model import SteadyState
from fathom.report import cells
from fathom.report.charts import steady as chart
from fathom.report.context import Context
from fathom.report.document import Block, Cell, Chart, Column, Paragraph, Table, Tone
from fathom.report.format import duration, plural
from fathom.report.section import Section
from fathom.results import Run

_COLUMNS = (
    Column("variant", "Variant"),
    cells.values("round", "Round"),
    Column("steady", "Result"),
    cells.values("cut_s", "Cut at the start"),
    Column("change_points_s", "Level changed at"),
    cells.values("excursion", "Largest change"),
    cells.values("warm_up_bias", "Bias of the warm-up"),
    Column("reasons", "Reasons"),
)
_MOST_DRAWN = 40


def build(context: Context) -> Sequence[Block]:
    """A bar per run, and the table."""
    runs = {run.id: run for run in context.campaign.runs}
    found = [(runs[state.run_id], state) for state in context.analysis.steady if state.run_id in runs]
    found.sort(key=lambda pair: (context.place(pair[0].variant), pair[0].round))
    if not found:
        return []
    unsteady = sum(not state.steady for _, state in found)
    settled = (
        f"{unsteady} of {plural(len(found), 'run')} were still fluctuating."
        if unsteady
        else f"{len(found)} of {plural(len(found), 'run')} were level."
    )
    how = "The warm-up is cut by MSER-5, changes of level are found by least squares."
    blocks: list[Block] = [Paragraph(f"{settled} {how}", Tone.WARN if unsteady else Tone.PLAIN)]
    rows = [row for row in (_drawn(context, run, state) for run, state in found) if row is not None][:_MOST_DRAWN]
    if rows:
        caption = "Coloured: the part that counts. Pale: cut as warm-up. Vertical ticks: changes of level."
        alt = f"{settled} " + "; ".join(_said(row) for row in rows) + "."
        blocks.append(Chart("steady", caption, alt, lambda: chart.draw(rows)))
    columns, table = cells.without_empty(_COLUMNS, [_row(context, run, state) for run, state in found])
    blocks.append(Table("steady-state", "Steady state by run", columns, table, collapsed=True))
    return blocks


def _drawn(context: Context, run: Run, state: SteadyState) -> chart.SteadyRow | None:
    frame = context.samples(run)
    if frame is None or not frame.height:
        return None
    ends = (frame["t_s"] + frame["seconds"]).to_list()
    length = max(float(end) for end in ends)
    return chart.SteadyRow(
        context.appearance(run.variant), run.round, length, state.cut_s, state.change_points_s, state.steady
    )


def _said(row: chart.SteadyRow) -> str:
    steady = "steady" if row.steady else "not steady"
    return f"{row.appearance.label}, round {row.round}: {steady} after {duration(row.cut_s)}"


def _row(context: Context, run: Run, state: SteadyState) -> tuple[Cell, ...]:
    result = Cell("✓ steady", "steady", Tone.GOOD) if state.steady else Cell("! not steady", "not steady", Tone.WARN)
    return (
        cells.text(context.label(run.variant)),
        cells.whole(run.round),
        result,
        cells.seconds(state.cut_s),
        cells.text(", ".join(duration(moment) for moment in state.change_points_s)),
        cells.share(state.excursion),
        cells.share(state.warm_up_bias, signed=True),
        cells.text("; ".join(state.reasons)),
    )


SECTION = Section("steady_state", "Steady state", 110, ("steady",), build, fold=lambda _: True)
