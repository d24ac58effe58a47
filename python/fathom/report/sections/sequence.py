"""A sequence of virtual users: every step of every run. Its levels are a load like any other, in all other sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fathom.analysis.sequence import USERS
from fathom.analysis.variants import Key, variant_key, without
from fathom.report import cells
from fathom.report.context import Context
from fathom.report.document import Block, Cell, Column, Table
from fathom.report.section import Section


def build(context: Context) -> Sequence[Block]:
    """The table; nothing where no run has a sequence."""
    rows = tuple(row for _, row in sorted(_rows(context), key=lambda found: found[0]))
    if not rows:
        return []
    columns = (
        Column("variant", "Variant"),
        cells.values("round", "Round"),
        cells.values("step", "Step"),
        cells.values("value", cells.with_unit(context.primary.label, context.primary.unit)),
        cells.values("p95_ms", "95 % within, ms"),
        Column("counts", "Counts"),
    )
    note = (
        "The first step of a sequence finds cold caches and is discarded; equal levels of a round are averaged. In all "
        "other sections each level counts as a separate run."
    )
    return [Table("sequence", "Every step", columns, rows, note, collapsed=len(rows) > 20)]


def _rows(context: Context) -> Iterator[tuple[tuple[int, int, int], tuple[Cell, ...]]]:
    """Every step with its place: by variant without the users, round and number, which is the order of a sequence."""
    things: dict[Key, int] = {}
    for variant in context.variants:
        thing = things.setdefault(variant_key(without(variant, [USERS])), len(things))
        for run in context.runs(variant):
            for step in run.steps:
                yield (
                    (thing, run.round, step.number),
                    (
                        cells.text(context.label(variant)),
                        cells.whole(run.round),
                        cells.whole(step.number),
                        cells.plain_number(step.metrics.get(context.primary.name), 6),
                        cells.quantity(step.metrics.get("latency_p95_ms"), "ms"),
                        cells.text("discarded" if step.discarded else "yes"),
                    ),
                )


SECTION = Section("sequence", "A sequence of virtual users", 46, ("ok_runs",), build)
