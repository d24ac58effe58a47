"""Every run's latency over time side by side: stalls, slow starts and runs unlike their siblings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fathom.report.charts import heat
from fathom.report.context import Context
from fathom.report.document import Block, Chart
from fathom.report.format import plural, significant
from fathom.report.section import Section
from fathom.report.series import WORKLOAD, Panel, Points, node_with, timeline, worst
from fathom.report.style.marks import Appearance

_MOST_ROWS = 40
_COLUMNS = 160
# A run of fewer intervals has no course to look at; the table by run says all there is.
_LEAST_COLUMNS = 6

_PANELS = (
    Panel("transaction_p99", "Transactions", "ms", ("transaction",), "latency_p99_ns", 1e-6),
    Panel("read_p99", "Reads", "ms", ("read",), "latency_p99_ns", 1e-6),
    Panel("write_p99", "Writes", "ms", ("write",), "latency_p99_ns", 1e-6),
)


def build(context: Context) -> Sequence[Block]:
    """A map per operation that the user saw, at most two: transactions come before the I/O they cause."""
    charts = [found for found in (_map(context, panel) for panel in _PANELS) if found is not None]
    return charts[:2]


def _map(context: Context, panel: Panel) -> Chart | None:
    runs = [(variant, run) for variant in context.variants for run in context.runs(variant)]
    frames = {run.id: frame for _, run in runs if (frame := context.samples(run)) is not None}
    node = node_with([context.counts(run) for _, run in runs], panel.ops, context.campaign.study)
    if node is None:
        return None
    lines: list[tuple[Appearance, int, Points]] = []
    for variant, run in runs:
        points = timeline(frames[run.id], panel, node) if run.id in frames else ()
        if any(not math.isnan(y) for _, y in points):
            lines.append((context.appearance(variant), run.round, points))
    drawn = lines[:_MOST_ROWS]
    times = [x for _, _, points in drawn for x, _ in points]
    if not drawn or min(times) == max(times):
        return None
    span = (min(times), max(times))
    columns = min(_COLUMNS, max(len(points) for _, _, points in drawn))
    if columns < _LEAST_COLUMNS:
        return None
    rows = [heat.HeatRow(appearance, number, worst(points, *span, columns)) for appearance, number, points in drawn]
    highest = max((row for row in rows), key=lambda row: max(cell or 0.0 for cell in row.cells))
    peak = max(cell or 0.0 for cell in highest.cells)
    where = "" if node == WORKLOAD else f" at {node}"
    title = f"{panel.title}{where}: 99th percentile of latency"
    more = f" {plural(len(lines) - len(drawn), 'further run')} in the data." if len(lines) > len(drawn) else ""
    caption = (
        "A row per run; each column shows the worst interval it covers, darker where latency is higher. White: nothing "
        f"was measured. The vertical line is the end of the warm-up, where there was one.{more}"
    )
    alt = f"{title} over time, {plural(len(rows), 'run')}. Highest: {significant(peak)} ms, {highest.name}."
    return Chart(f"latency-map-{panel.name.removesuffix('_p99')}", caption, alt, lambda: heat.draw(rows, span, title))


SECTION = Section("latency_map", "Latency over time, run by run", 55, ("samples",), build, fold=lambda _: True)
