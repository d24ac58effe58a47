"""The figures of a study that compares nothing: what a user of fio looks for first."""

from __future__ import annotations

from fathom.analysis.figures import RATES, latency_kinds, limit_met, means, own_limit_met
from fathom.analysis.model import Source, soonest
from fathom.analysis.variants import Variant, matches, resolved
from fathom.analysis.words import short
from fathom.metrics import metric
from fathom.report import cells
from fathom.report.context import Context
from fathom.report.document import Block, Cell, Column, Table
from fathom.report.format import MISSING, quantity
from fathom.tail import few

_MOST = 12
_PERCENTILES = ("", "_p50", "_p95", "_p99", "_p999")


def figures(context: Context) -> list[Block]:
    """A table of rates and outstanding I/O, and one of latencies by kind of request; a row per variant."""
    rates, latencies = [], []
    for variant in context.variants[:_MOST]:
        found, name = means(context.analysis, variant), context.label(variant)
        if not found:
            continue
        # The mean over phases is a rate that nobody asked for.
        runs = context.runs(variant)
        phased = bool(resolved(context.campaign.study, variant).get("phases"))
        limit = MISSING if phased else limit_met(runs, found) or _spent(context, variant) or own_limit_met(runs)
        names = [n for n in (*RATES, "mb_per_s", "outstanding", "errors") if n in context.measured]
        rates.append(
            (
                cells.text(name),
                *(_cell(n, found) for n in names),
                cells.text(limit or "none that is stated"),
            )
        )
        latencies += [(cells.text(name), *row) for row in _by_kind(context, variant, found)]
    if not rates:
        return []
    names = [n for n in (*RATES, "mb_per_s", "outstanding", "errors") if n in context.measured]
    heads = [Column(n, short(n)[:1].upper() + short(n)[1:], numeric=True) for n in names]
    kept = (Column("variant", "Variant"), *heads, Column("limit", "Limit that was met"))
    blocks: list[Block] = [Table("figures", "Rates, means over rounds", *_without_lone(kept, rates))]
    if latencies:
        columns = (
            Column("variant", "Variant"),
            Column("kind", "Requests"),
            *(
                Column(f"latency{part}_ms", head, numeric=True)
                for part, head in zip(_PERCENTILES, ("Mean", "p50", "p95", "p99", "p99.9"), strict=True)
            ),
        )
        shown = _without_lone(columns, latencies)
        folded = len(latencies) > _MOST
        thin = any(cell.text.endswith(cells.THIN) for row in latencies for cell in row)
        note = "Marked ?: fewer than ten requests of all runs lie beyond it." if thin else ""
        blocks.append(Table("latencies", "Latency by kind of request", *shown, note, collapsed=folded))
    return blocks


def _spent(context: Context, variant: Variant) -> str | None:
    """The burst credits that a variant lived on: its mean rate is then none that a volume states."""
    mine = [one for one in context.analysis.reserves if matches(one.variant, variant)]
    found = soonest(one for one in mine if one.source is Source.CREDITS)
    return f"burst credits: {found.brief}" if found is not None else None


def _by_kind(context: Context, variant: Variant, found: dict[str, float]) -> list[tuple[Cell, ...]]:
    """Latencies for each kind of request, and for all; these not where one kind is all there is."""
    rows: dict[str, tuple[Cell, ...]] = {}
    for kind in latency_kinds(found):
        wanted = [f"{kind}latency{part}_ms" for part in _PERCENTILES]
        rows[kind.replace("_", " ").strip() or "all"] = tuple(_latency(context, variant, n, found) for n in wanted)
    alone = len(rows) == 2 and len(set(rows.values())) == 1
    return [(cells.text(kind), *row) for kind, row in rows.items() if not (alone and kind == "all")]


def _latency(context: Context, variant: Variant, name: str, found: dict[str, float]) -> Cell:
    cell = _cell(name, found)
    if few(name, context.runs(variant)) is not None:
        cell = cells.thin(cell)
    return cells.at_least(cell) if context.leaves_out(variant, name) else cell


def _without_lone(
    columns: tuple[Column, ...], rows: list[tuple[Cell, ...]]
) -> tuple[tuple[Column, ...], tuple[tuple[Cell, ...], ...]]:
    """The table without its first column where that says the same in every row."""
    if len({row[0].text for row in rows}) > 1:
        return columns, tuple(rows)
    return columns[1:], tuple(row[1:] for row in rows)


def _cell(name: str, found: dict[str, float]) -> Cell:
    value = found.get(name)
    return Cell(MISSING, None) if value is None else Cell(quantity(value, metric(name).unit), value)
