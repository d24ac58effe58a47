"""Load by variant: the metric of each in its unit, with the sign of the verdict; overloads in words.

Values are geometric means, as beside the ratios of the sentence above: an arithmetic mean would be a second number for
the same thing.
"""

from __future__ import annotations

from fathom.analysis.figures import geometric_mean
from fathom.analysis.model import Verdict
from fathom.analysis.variants import Variant, label, numeric, of_variant, variant_key, without
from fathom.analysis.words import capital, short
from fathom.metrics import metric
from fathom.report.context import Context
from fathom.report.document import Cell, Column, Table, Tone
from fathom.report.format import MISSING, number
from fathom.report.verdicts import sign, tone

_MOST_COLUMNS = 6
_OF_LOADS = "▲ better than the baseline at that load, ▼ worse, = equivalent, ? undecided, ! no ratio."
_KIND = "Geometric means over the rounds, as beside the ratios."
_OF_MEANS = "The verdict is about the geometric mean of the ratios at these loads."


def grid(context: Context) -> Table | None:
    """The table; None for a study in which no load varies beside what is compared."""
    loads = context.analysis.loads
    if not loads or not context.analysis.comparisons or context.is_sweep:
        return None
    at_loads = [{load: v[load] for load in loads if load in v} for v in context.variants]
    rows = list({variant_key(at): at for at in at_loads if at}.values())
    columns = list({variant_key(without(v, loads)): without(v, loads) for v in context.variants}.values())
    if len(rows) < 2 or not columns or len(columns) > _MOST_COLUMNS:
        return None
    rows.sort(key=lambda row: [(numeric(level) is None, numeric(level) or 0.0) for level in row.values()])
    study = context.campaign.study
    table = []
    for at in rows:
        value = ", ".join(str(level) for level in at.values())
        table.append((Cell(label(at, study), value), *(_cell(context, {**column, **at}) for column in columns)))
    name = short(context.primary.name)
    heads = [Column(f"variant_{index}", label(column, study), numeric=True) for index, column in enumerate(columns)]
    unit = f", {context.primary.unit}" if context.primary.unit else ""
    return Table(
        "grid",
        f"{capital(name)}{unit} by load",
        (Column("load", "Load"), *heads),
        tuple(table),
        f"{_KIND} {_OF_MEANS if any(c.averaged for c in context.analysis.comparisons) else _OF_LOADS}",
    )


def _cell(context: Context, variant: Variant) -> Cell:
    over = next(iter(of_variant(context.analysis.overloads, variant)), None)
    found = next(iter(of_variant(context.analysis.comparisons, variant)), None)
    value = (
        found.values[0]
        if found is not None and found.values is not None
        else geometric_mean(context.runs(variant), context.primary.name)
    )
    # Its logarithms leave 4.9999999999 of 5, which would get decimals.
    value = None if value is None else float(f"{value:.12g}")
    if over is not None:
        return Cell(f"! only {over.done:,.0f}/s", value, Tone.BAD)
    if value is None:
        return Cell(MISSING, None)
    at_least = "≥ " if context.leaves_out(variant, context.primary.name) else ""
    said = at_least + number(value, metric(context.primary.name).unit)
    if found is None or found.verdict is Verdict.OVERLOADED:
        return Cell(said, value)
    return Cell(f"{sign(found.verdict)} {said}", value, tone(found))
