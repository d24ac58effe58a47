"""What ran where: how the variants differ, the host and the versions, and every run with its seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fathom.analysis.variants import matches
from fathom.compare import PLACE
from fathom.report import cells
from fathom.report.context import Context, level_text
from fathom.report.document import Block, Cell, Column, Listing, Table, Tone
from fathom.report.format import moment
from fathom.report.plain import flatten
from fathom.report.section import Section
from fathom.results import Places, Run

_MOST_OPEN = 12


def build(context: Context) -> Sequence[Block]:
    """Settings by variant, facts of the host, facts that changed between runs, all runs, the study as written."""
    blocks: list[Block] = []
    if context.variants and context.factors:
        blocks.append(_settings(context))
    if context.campaign.places is not None and context.campaign.places.differences:
        blocks.append(_differences(context, context.campaign.places))
    facts = [
        {path: _shown(value) for path, value in flatten({**run.environment, "workload": run.facts})}
        for run in context.campaign.runs
    ]
    shared, changing = _split(facts)
    if shared:
        rows = tuple((cells.text(path), cells.text(value)) for path, value in shared.items())
        blocks.append(
            Table("environment", "Environment", _facts("Fact", "Value"), rows, collapsed=len(rows) > _MOST_OPEN)
        )
    if changing:
        rows = tuple((cells.text(path), cells.text("; ".join(values))) for path, values in changing.items())
        blocks.append(
            Table(
                "environment-changes", "Facts that differ between runs", _facts("Fact", "Values"), rows, collapsed=True
            )
        )
    if context.campaign.runs:
        blocks.append(_runs(context))
    if context.campaign.study_text.strip():
        blocks.append(Listing("The study as written", context.campaign.study_text))
    return blocks


def _facts(name: str, value: str) -> tuple[Column, Column]:
    return Column("fact", name), Column("value", value)


def _shown(value: Any) -> str:
    return level_text(value) if isinstance(value, bool | int | float | str) or value is None else str(value)


def _split(facts: Sequence[dict[str, str]]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Facts that every run which states them agrees on, and the others with all their values."""
    values: dict[str, list[str]] = {}
    for one in facts:
        for path, value in one.items():
            known = values.setdefault(path, [])
            if value not in known:
                known.append(value)
    shared = {path: known[0] for path, known in values.items() if len(known) == 1}
    return shared, {path: known for path, known in values.items() if len(known) > 1}


def _differences(context: Context, places: Places) -> Table:
    """What differs between two places besides the place."""
    first, second = (str(name) for name in context.campaign.study["factors"][PLACE])
    columns = (Column("fact", "Fact"), Column("first", first), Column("second", second))
    rows = tuple(tuple(cells.text(text) for text in row) for row in places.differences)
    return Table(
        "place-differences", "What differs between the places", columns, rows, collapsed=len(rows) > _MOST_OPEN
    )


def _settings(context: Context) -> Table:
    columns = (
        Column("variant", "Variant"),
        *(Column(factor, factor) for factor in context.factors),
        Column("role", "Role"),
    )
    rows = tuple(
        (
            cells.text(context.label(variant)),
            *(cells.text(level_text(variant.get(factor))) for factor in context.factors),
            cells.text("baseline" if any(matches(variant, base) for base in context.baselines) else None),
        )
        for variant in context.variants
    )
    note = (
        f"All other settings are equal. Seed of the campaign: {context.campaign.seed}; clock: {context.campaign.clock}."
    )
    return Table("variants", "How the variants differ", columns, rows, note)


def _runs(context: Context) -> Table:
    columns = (
        cells.values("order", "Order"),
        cells.values("round", "Round"),
        Column("variant", "Variant"),
        Column("status", "Status"),
        cells.values(context.primary.name, cells.with_unit(context.primary.label, context.primary.unit)),
        Column("started", "Started"),
        cells.values("seconds", "Took"),
        Column("seed", "Seed"),
        Column("digest", "Digest"),
        Column("id", "Run"),
    )
    rows = [_run(context, run) for run in sorted(context.campaign.runs, key=lambda run: run.order)]
    kept, cut = cells.without_empty(columns, rows)
    return Table("runs", "All runs in the order they were executed", kept, cut, collapsed=len(rows) > _MOST_OPEN)


def _run(context: Context, run: Run) -> tuple[Cell, ...]:
    status = (
        Cell("✓ ok", run.status, Tone.GOOD) if run.ok else Cell(f"! {run.reason or 'failed'}", run.status, Tone.BAD)
    )
    return (
        cells.whole(run.order),
        cells.whole(run.round),
        cells.text(context.label(run.variant)),
        status,
        cells.quantity(run.metrics.get(context.primary.name), context.primary.unit),
        Cell(moment(run.started), run.started) if run.started else cells.text(None),
        cells.seconds(run.seconds),
        Cell(str(run.seed), run.seed),
        Cell(run.digest[:12], run.digest) if run.digest else cells.text(None),
        Cell(run.id[:12], run.id),
    )


SECTION = Section("environment", "Environment and settings", 130, ("runs",), build, detail=True)
