"""Latency percentiles of every run, from histograms: never the mean alone."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis.variants import Variant
from fathom.metrics import METRICS
from fathom.report import cells
from fathom.report.charts import percentiles as chart
from fathom.report.context import Context
from fathom.report.document import Block, Cell, Chart, Column, Paragraph, Table
from fathom.report.section import Section
from fathom.report.series import WORKLOAD, counted, node_with, operations, percentile_curve
from fathom.results import Run
from fathom.tail import few
from fathom.unanswered import hidden

_MOST_VARIANTS, _MOST_PANELS = 6, 3
_FINEST, _FULL_DETAIL = 0.015, 20
"""Distance of points in x, kept up to so many runs; beyond, curves get coarser so that the page stays small."""

_TABLE = ("latency_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_p999_ms")


def build(context: Context) -> Sequence[Block]:
    """The curves by operation, and the percentiles of every run as a table."""
    variants = context.shown(_MOST_VARIANTS, context.histograms)
    appearances = [context.appearance(variant) for variant in variants]
    panels = _panels(context, variants)
    if not panels:
        return []
    caption = (
        "Each line is one run: at 99 %, one request in a hundred took longer. Lines turn pale where fewer than ten "
        "requests lie beyond."
    )
    ops = " and ".join(panel.title for panel in panels)
    names = ", ".join(each.label for each in appearances)
    alt = f"Percentiles of {ops} for {names}; the table below gives the numbers."
    blocks: list[Block] = [Chart("percentiles", caption, alt, lambda: chart.draw(appearances, panels))]
    if _closed_loop(context):
        blocks.append(Paragraph("Closed loop: a slow request holds the next one back, so the tail may omit waits."))
    return [*blocks, *_table(context)]


def _closed_loop(context: Context) -> bool:
    """Block I/O without an arrival rate in any variant."""
    variants = context.campaign.study.get("variants", ())
    demands = [part["demand"] for variant in variants for part in (variant["phases"] or [variant])]
    is_io = context.campaign.study.get("workload", {}).get("kind") == "io"
    return is_io and not any("rate" in demand for demand in demands if demand)


def _panels(context: Context, variants: Sequence[Variant]) -> list[chart.PercentilePanel]:
    frames = {
        run.id: frame for v in variants for run in context.runs(v) if (frame := context.histograms(run)) is not None
    }
    counts = counted(frames)
    node = node_with(list(counts.values()), (), context.campaign.study)
    if node is None:
        return []
    gap = max(_FINEST, len(frames) * _FINEST / _FULL_DETAIL)
    curves: dict[str, list[chart.Curve]] = {}
    for place, variant in enumerate(variants):
        for run in (run for run in context.runs(variant) if run.id in frames):
            frame = frames[run.id]
            for op in operations(counts[run.id], node):
                points, thin_from = percentile_curve(frame, node, op, gap)
                if len(points) > 1:
                    curves.setdefault(op, []).append(chart.Curve(place, run.round, points, thin_from))
    where = "" if node == WORKLOAD else f" at {node}"
    return [
        chart.PercentilePanel(f"{op} latency{where}", tuple(found)) for op, found in list(curves.items())[:_MOST_PANELS]
    ]


def _table(context: Context) -> list[Block]:
    names = [name for name in _TABLE if any(run.metrics.get(name) is not None for run in context.ok_runs)]
    if not names:
        return []
    columns = (
        Column("variant", "Variant"),
        cells.values("round", "Round"),
        *(cells.values(name, cells.with_unit(METRICS[name].label.removesuffix(" latency"), "ms")) for name in names),
    )
    rows: list[tuple[Cell, ...]] = []
    for variant in context.variants:
        for run in context.runs(variant):
            numbers = (_number(run, name) for name in names)
            rows.append((cells.text(context.label(variant)), cells.whole(run.round), *numbers))
    thin = [METRICS[name].label for name in names if any(few(name, [run]) is not None for run in context.ok_runs)]
    note = f"Marked ?: fewer than ten requests of that run lie beyond it ({', '.join(thin)})." if thin else ""
    return [Table("percentiles", "Latency by run", columns, tuple(rows), note, collapsed=len(rows) > 8)]


def _number(run: Run, name: str) -> Cell:
    cell = cells.quantity(run.metrics.get(name), METRICS[name].unit)
    if few(name, [run]) is not None:
        cell = cells.thin(cell)
    return cells.at_least(cell) if hidden(name, run) is not None else cell


SECTION = Section("percentiles", "Latency percentiles", 60, ("histograms",), build, detail=True)
