"""What the sections about databases and hosts share: a table of observed metrics, a picture of what was sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.analysis.variants import Variant, variant_key
from fathom.metrics import METRICS
from fathom.report import cells, series
from fathom.report.charts import timeline
from fathom.report.context import Context
from fathom.report.document import Chart, Column, Table
from fathom.report.format import plural
from fathom.report.sections.evidence import mean_of
from fathom.results import Run

AT_A_PLACE = (
    "place_read_iops", "place_write_iops", "place_read_mb_per_s", "place_write_mb_per_s", "place_read_latency_ms",
    "place_write_latency_ms", "average_read_kib", "average_write_kib", "place_outstanding",
)  # fmt: skip
"""Metrics of the requests at a place; with the place's name before it where a run has several."""

_MOST_COLUMNS = 4
_MOST_VARIANTS = 6


@dataclass(frozen=True)
class Sampled:
    """One row of the picture: a measure of all of a kind, or of the one of that name, times `scale`.

    `after` goes on to the run's end, beyond the measured phase: to see a cache drain. `per` divides by another measure
    of the same: bytes per request.
    """

    title: str
    unit: str
    kind: str
    measure: str
    scale: float = 1.0
    after: bool = False
    per: str | None = None
    name: str | None = None


def place_names(context: Context, runs: Sequence[Run]) -> list[str]:
    """The places that runs had, by the kernel's counts."""
    frames = [frame for run in runs if (frame := context.activity(run)) is not None]
    return sorted({name for frame in frames for name in series.places(frame)})


def table(context: Context, name: str, title: str, metrics: Sequence[str]) -> Table | None:
    """Means, a row per metric that anybody measured and a column per variant; None if there are none."""
    shown = context.shown(_MOST_VARIANTS, lambda run: run.directory)
    columns = [Column("metric", "Metric")]
    columns += [cells.values(f"variant_{place}", context.label(variant)) for place, variant in enumerate(shown, 1)]
    rows = []
    for metric in metrics:
        means = [mean_of(context, variant, metric) for variant in shown]
        if any(mean is not None for mean in means):
            head = cells.text(cells.with_unit(METRICS[metric].label, METRICS[metric].unit))
            rows.append((head, *(cells.plain_number(None if mean is None else mean.value) for mean in means)))
    left_out = len(context.variants) - len(shown)
    more = f" {plural(left_out, 'further variant')} in the table of means." if left_out else ""
    note = f"Means over the runs, each over its measured phase.{more}"
    return Table(name, title, tuple(columns), tuple(rows), note) if rows else None


def mean(context: Context, variant: Variant, metric: str) -> float | None:
    """Mean of a metric over the runs of a variant; None where nobody measured it."""
    found = mean_of(context, variant, metric)
    return None if found is None else found.value


def picture(context: Context, name: str, caption: str, wanted: Sequence[Sampled]) -> Chart | None:
    """The measures over time, one column per variant that has any of them; None if nothing was sampled."""
    sampled = {
        variant_key(variant): [
            (run.round, frame) for run in context.runs(variant) if (frame := context.activity(run)) is not None
        ]
        for variant in context.shown(_MOST_COLUMNS, context.activity)
    }

    def lines(row: Sampled, variant: Variant) -> tuple[tuple[str, series.Points], ...]:
        return tuple(
            (
                f"round {number}",
                series.activity(frame, row.kind, row.measure, row.scale, name=row.name, after=row.after, per=row.per),
            )
            for number, frame in sampled[variant_key(variant)]
        )

    variants = [
        variant
        for variant in context.shown(_MOST_COLUMNS, context.activity)
        if any(line for row in wanted for _, line in lines(row, variant))
    ]
    made = [
        timeline.TimelineRow(row.title, row.unit, tuple(lines(row, variant) for variant in variants)) for row in wanted
    ]
    rows = [row for row in made if any(value > 0 for column in row.lines for _, line in column for _, value in line)]
    if not rows:
        return None
    appearances = [context.appearance(variant) for variant in variants]
    ramps = [any(_ramped(row.lines[place]) for row in rows) for place in range(len(variants))]
    ends: list[float] = []
    if any(row.after for row in wanted):
        ends = [max(series.measured_end(frame) for _, frame in sampled[variant_key(variant)]) for variant in variants]
        caption += " Shaded on the right: after the measured phase."
    few = context.few(variants, context.activity)
    titles = ", ".join(row.title.lower() for row in rows)
    alt = f"Over time, for {', '.join(each.label for each in appearances)}: {titles}. The table gives the means."
    return Chart(name, caption, alt, *timeline.pictures(appearances, rows, ramps, few, ends))


def _ramped(lines: Sequence[tuple[str, series.Points]]) -> bool:
    return any(time < 0 for _, line in lines for time, _ in line)
