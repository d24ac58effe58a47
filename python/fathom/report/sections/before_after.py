"""Before and after: what happened over time, one column per variant, with equal axes."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis.variants import Variant
from fathom.report.charts import timeline
from fathom.report.context import Context
from fathom.report.document import Block, Chart
from fathom.report.format import plural
from fathom.report.section import Section
from fathom.report.series import DATA, PANELS, WORKLOAD, Panel, has_ramp, node_with
from fathom.report.series import timeline as points

_MOST_COLUMNS = 4
_SAME_SIZE = 1.02
"""Sizes of requests that change less than this are a setting, not something that happened."""


def build(context: Context) -> Sequence[Block]:
    """One chart of the baseline, the leading variant and the next ones, as far as they left samples."""
    variants = context.shown(_MOST_COLUMNS, context.samples)
    rows = [row for row in (_row(context, variants, panel) for panel in PANELS) if row is not None]
    if not rows:
        return []
    appearances = [context.appearance(variant) for variant in variants]
    ramps = [_ramped(context, variant) for variant in variants]
    left_out = len(context.variants) - len(variants)
    more = f" {plural(left_out, 'further variant')} in the data." if left_out else ""
    shaded = " Shaded: warm-up, not counted." if any(ramps) else ""
    caption = f"Means of each interval, a line per run, equal axes. A broken line: nothing was measured.{shaded}{more}"
    titles = ", ".join(row.title.lower() for row in rows)
    alt = f"Over time, for {', '.join(each.label for each in appearances)}: {titles}. The tables give the numbers."
    few = context.few(variants, context.samples)
    return [Chart("before-after", caption, alt, *timeline.pictures(appearances, rows, ramps, few))]


def _ramped(context: Context, variant: Variant) -> bool:
    frames = (context.samples(run) for run in context.runs(variant))
    return any(has_ramp(frame) for frame in frames if frame is not None)


def _row(context: Context, variants: Sequence[Variant], panel: Panel) -> timeline.TimelineRow | None:
    frames = {run.id: frame for v in variants for run in context.runs(v) if (frame := context.samples(run)) is not None}
    counts = [context.counts(run) for variant in variants for run in context.runs(variant)]
    node = node_with(counts, panel.ops or DATA, context.campaign.study)
    if node is None:
        return None
    columns = tuple(
        tuple(
            (f"round {run.round}", points(frames[run.id], panel, node))
            for run in context.runs(variant)
            if run.id in frames
        )
        for variant in variants
    )
    values = [value for lines in columns for _, line in lines for _, value in line if value > 0]
    if not values or (panel.per is not None and max(values) <= _SAME_SIZE * min(values)):
        return None
    where = "" if node == WORKLOAD else f" `{node}`" if panel.name == "dirty" else f" at {node}"
    return timeline.TimelineRow(f"{panel.title}{where}", panel.unit, columns)


SECTION = Section("before_after", "Over time, by variant", 50, ("samples",), build)
