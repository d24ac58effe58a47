"""Several databases at the same time: what each of them got, what they got together, how evenly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fathom.analysis.variants import Variant
from fathom.metrics import Metric, metric
from fathom.report import cells
from fathom.report.context import Context
from fathom.report.document import Block, Cell, Column, Table
from fathom.report.section import Section
from fathom.report.sections.evidence import mean_of

_PER_DATABASE = "per_database_"
_LATENCY = metric("latency_p99_ms")
_ALL = "all together"
_MOST_ROWS = 20


def build(context: Context) -> Sequence[Block]:
    """One table: a row per variant and database, and one for all of them."""
    primary = _primary(context)
    if primary is None:
        return []
    listed = context.campaign.study["workload"]["database"]
    rows = [row for variant in context.variants for row in _rows(context, variant, primary, listed)]
    columns = (
        Column("variant", "Variant"),
        Column("database", "Database"),
        cells.values("done", cells.with_unit(primary.label, primary.unit)),
        Column("done_interval", "Interval"),
        cells.values("latency", cells.with_unit(_LATENCY.label, _LATENCY.unit)),
        cells.values("fairness", "Slowest of the fastest, %"),
    )
    note = "Means over the runs. All together: the sum, the percentile over the transactions of all."
    return [Table("databases", "Each database and all of them", columns, tuple(rows), note, len(rows) > _MOST_ROWS)]


def _primary(context: Context) -> Metric | None:
    """What a database's share is told by: the one whose mean per database was measured."""
    names = (name for run in context.ok_runs for name in run.metrics if name.startswith(_PER_DATABASE))
    return next((metric(name.removeprefix(_PER_DATABASE)) for name in names), None)


def _rows(context: Context, variant: Variant, primary: Metric, listed: Sequence[str]) -> Iterator[tuple[Cell, ...]]:
    driven = [name for name in listed if mean_of(context, variant, f"{name}_{primary.name}") is not None]
    for name, prefix in (*((name, f"{name}_") for name in driven), (_ALL, "")):
        done = mean_of(context, variant, prefix + primary.name)
        if done is None:
            continue
        latency = mean_of(context, variant, prefix + _LATENCY.name)
        fairness = mean_of(context, variant, "fairness_percent") if not prefix else None
        yield (
            cells.text(context.label(variant)),
            cells.text(name),
            cells.quantity(done.value, primary.unit),
            cells.interval(done, primary.unit),
            cells.quantity(None if latency is None else latency.value, _LATENCY.unit),
            cells.plain_number(None if fairness is None else fairness.value),
        )


SECTION = Section("databases", "Databases side by side", 82, ("ok_runs",), build)
