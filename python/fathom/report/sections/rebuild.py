"""A rebuild or rebalancing and its users on one time line: what each does in every phase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fathom.analysis.phases import phases
from fathom.analysis.variants import Variant, of_variant
from fathom.report import series
from fathom.report.charts import timeline
from fathom.report.context import Context
from fathom.report.document import Block, Chart
from fathom.report.format import plural
from fathom.report.section import Section

if TYPE_CHECKING:
    import polars as pl

_MOST_COLUMNS = 3
_RESYNC = ".resync"
"""Ends the node that stands for a mirror's or a pool's own copying."""

_USERS = (
    series.Panel("users_reads", "Users' reads", "IOPS", ("read",), "count", 1.0, per_second=True),
    series.Panel("users_writes", "Users' writes", "IOPS", ("write",), "count", 1.0, per_second=True),
    series.Panel("users_read_latency", "Users' read latency", "ms", ("read",), "latency_mean_ns", 1e-6),
    series.Panel("users_write_latency", "Users' write latency", "ms", ("write",), "latency_mean_ns", 1e-6),
)
_COPIED = series.Panel("rebuild", "Rebuild", "IOPS", ("write",), "count", 1.0, per_second=True)
_MOVED = series.Panel("rebalancing", "Rebalancing", "MB/s", ("write",), "bytes", 1e-6, per_second=True)


def build(context: Context) -> Sequence[Block]:
    """One chart; nothing where no mirror and no pool copied anything."""
    variants = context.shown(_MOST_COLUMNS, context.samples)
    frames = {
        run.id: frame
        for variant in variants
        for run in context.runs(variant)
        if (frame := context.samples(run)) is not None
    }
    nodes = {node for frame in frames.values() for node in set(frame["node"].to_list()) if node.endswith(_RESYNC)}
    if not nodes:
        return []
    node = min(nodes)
    volume = node.removesuffix(_RESYNC)
    is_pool = context.campaign.study.get("volumes", {}).get(volume, {}).get("kind") == "pool"

    def row(panel: series.Panel, of: str) -> timeline.TimelineRow:
        columns = tuple(
            tuple(
                (f"round {run.round}", series.timeline(frames[run.id], panel, of) or _nothing(frames[run.id], of))
                for run in context.runs(variant)
                if run.id in frames
            )
            for variant in variants
        )
        return timeline.TimelineRow(panel.title, panel.unit, columns)

    rows = [row(_MOVED if is_pool else _COPIED, node), *(row(panel, series.WORKLOAD) for panel in _USERS)]
    marks = tuple((phase.start, phase.name) for phase in phases(context.campaign.study.get("workload")))
    appearances = [context.appearance(variant) for variant in variants]
    ramps = [_ramped(context, variant) for variant in variants]
    left_out = len(context.variants) - len(variants)
    more = f" {plural(left_out, 'further variant')} in the data." if left_out else ""
    named = f" Dotted: where {', '.join(name for _, name in marks)} begin." if marks else ""
    caption = (
        f"What the {'pool' if is_pool else 'mirror'} {volume} {'moves' if is_pool else 'copies'} beside what its users "
        f"do, on one time line; a line per run, equal axes.{named}{more}"
    )
    titles = ", ".join(one.title.lower() for one in rows)
    alt = f"Over time, for {', '.join(each.label for each in appearances)}: {titles}. The tables give the numbers."
    few = context.few(variants, context.samples)
    return [Chart("rebuild", caption, alt, *timeline.pictures(appearances, rows, ramps, few, marks=marks))]


def _nothing(frame: pl.DataFrame, node: str) -> series.Points:
    """A line at 0 for a resync that copied nothing; no line for users without requests."""
    if not node.endswith(_RESYNC):
        return ()
    ends = [(start, start + length) for start, length in frame.select("t_s", "seconds").iter_rows()]
    return ((min(ends)[0], 0.0), (max(end for _, end in ends), 0.0)) if ends else ()


def _ramped(context: Context, variant: Variant) -> bool:
    runs = of_variant(context.campaign.runs, variant)
    return any(series.has_ramp(frame) for run in runs if (frame := context.samples(run)) is not None)


SECTION = Section("rebuild", "A resync beside its users", 52, ("samples",), build)
