"""The evidence strip: every run of every variant in the metrics that matter."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis.model import Estimate
from fathom.analysis.variants import Variant, of_variant
from fathom.metrics import METRICS, Metric
from fathom.report.charts import runs as chart
from fathom.report.context import Context
from fathom.report.document import Block, Chart
from fathom.report.format import count, interval, plural, quantity
from fathom.report.section import Section

_BESIDE = ("latency_ms", "latency_p99_ms", "outstanding", "iops", "mb_per_s", "waiting_ms", "elapsed_s")
_MOST_PANELS = 4
_MOST_ROWS = 36
"""Twelve tests of a disk for three disks: with fewer the last disk, for which the others are there, was left out."""


def build(context: Context) -> Sequence[Block]:
    """One chart of at most four metrics and, of a long list, the first variants."""
    variants = context.variants[:_MOST_ROWS]
    metrics = [metric for metric in _metrics(context) if _measured(context, metric)][:_MOST_PANELS]
    if not metrics:
        return []
    appearances = [context.appearance(variant) for variant in variants]
    panels = [
        chart.RunsPanel(
            metric,
            tuple(points_of(context, variant, metric.name) for variant in variants),
            tuple(mean_of(context, variant, metric.name) for variant in variants),
        )
        for metric in metrics
    ]
    left_out = len(context.variants) - len(variants)
    more = f" {plural(left_out, 'further variant')} in the tables." if left_out else ""
    caption = (
        "Every run is a mark, first round on top. The vertical line is the arithmetic mean, the grey bar its "
        f"interval.{more}"
    )
    if any(context.leaves_out(variant, metric.name) for variant in variants for metric in metrics):
        caption += f" {context.unanswered_words.split('; ≥')[0].rstrip('.')}."
    return [
        Chart(
            "runs",
            caption,
            _alt(context, panels[0], variants),
            lambda: chart.draw(appearances, panels),
            lambda: chart.draw_narrow(appearances, panels),
        )
    ]


def points_of(context: Context, variant: Variant, name: str) -> tuple[tuple[int, float], ...]:
    """(round, value) of every finished run that measured it."""
    found = ((run.round, run.metrics.get(name)) for run in context.runs(variant))
    return tuple((number, value) for number, value in found if value is not None)


def mean_of(context: Context, variant: Variant, name: str) -> Estimate | None:
    """The mean the analysis made, if it made one."""
    return next((s.mean for s in of_variant(context.analysis.summaries, variant) if s.metric == name), None)


def _metrics(context: Context) -> list[Metric]:
    # What the study asks of a publication's cells belongs beside the verdict.
    asked = [cell.metric for cell in context.analysis.predictions]
    beside = [name for name in dict.fromkeys((*asked, *_BESIDE)) if name != context.primary.name and name in METRICS]
    return [context.primary, *(METRICS[name] for name in beside)]


def _measured(context: Context, metric: Metric) -> bool:
    """Whether any run has it; beside the primary metric, one that is 0 everywhere says nothing."""
    values = [run.metrics.get(metric.name) for run in context.ok_runs]
    return any(value is not None and (value != 0 or metric is context.primary) for value in values)


def _alt(context: Context, panel: chart.RunsPanel, variants: Sequence[Variant]) -> str:
    parts = []
    for variant, points, mean in zip(variants, panel.points, panel.means, strict=True):
        said = f"{plural(len(points), 'run')}"
        if mean is not None:
            said += f", mean {quantity(mean.value, panel.metric.unit)}, interval {interval(mean, panel.metric.unit)}"
        elif points:
            said += f", {count(min(v for _, v in points))} to {count(max(v for _, v in points))} {panel.metric.unit}"
        parts.append(f"{context.label(variant)}: {said}")
    return f"Runs by variant, {panel.metric.label}. " + "; ".join(parts) + "."


SECTION = Section("evidence", "The evidence at a glance", 30, ("ok_runs",), build)
