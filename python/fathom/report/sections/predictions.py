"""Predictions beside published figures, with the error; calibrated cells are marked and listed."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis.model import Prediction
from fathom.analysis.words import capital
from fathom.metrics import metric
from fathom.report import cells
from fathom.report.charts import predictions as chart
from fathom.report.context import Context
from fathom.report.document import Block, Bullets, Cell, Chart, Column, Paragraph, Table, Tone
from fathom.report.format import percent, quantity
from fathom.report.section import Section

_CLOSE = 0.10

_COLUMNS = (
    Column("cell", "Cell"),
    Column("metric", "Metric"),
    cells.values("published", "Published"),
    cells.values("predicted", "Found here"),
    Column("interval", "Interval"),
    Column("unit", "Unit"),
    cells.values("relative_error", "Error"),
    Column("standing", "Standing"),
    Column("source", "Source"),
    Column("note", "Note"),
)


def build(context: Context) -> Sequence[Block]:
    """What calibration means here, the chart, the table, the list of calibrated parameters."""
    found = context.analysis.predictions
    groups: dict[tuple[str, str], list[Prediction]] = {}
    for cell in found:
        if cell.predicted is not None or cell.published is not None:
            groups.setdefault((cell.metric, cell.unit), []).append(cell)
    told = (
        "Filled mark: found here. Open diamond: published. A published figure is never an input of the model unless it "
        "is listed as calibrated; the agreement of a calibrated cell proves nothing."
    )
    if all(cell.published is None for cell in found):
        told = "What the study asks for without a published figure to compare it with; found here."
    blocks: list[Block] = [Paragraph(told)]
    if groups:
        alt = "Predictions beside publications. " + "; ".join(_said(cell) for cell in found) + "."
        ordered = list(groups.values())
        caption = "One row per cell, axes start at 0 or are logarithmic; the error is found here / published − 1."
        blocks.append(Chart("predictions", caption, alt, lambda: chart.draw(ordered)))
    sources = tuple(dict.fromkeys(cell.source for cell in found if cell.source))
    columns, rows = cells.without_empty(_COLUMNS, [_row(cell, sources) for cell in found])
    blocks.append(Table("predictions", "Predictions and published figures", columns, rows))
    if len(sources) == 1:
        blocks.append(Paragraph(f"Source of the published figures: {sources[0].rstrip('.')}."))
    elif sources:
        blocks.append(Paragraph("Sources of the published figures:"))
        blocks.append(Bullets(tuple(f"{number}: {source}" for number, source in enumerate(sources, 1))))
    if context.analysis.calibrated_on:
        blocks.append(Paragraph("Calibrated on:"))
        blocks.append(Bullets(context.analysis.calibrated_on))
    return blocks


def _said(cell: Prediction) -> str:
    here = "not found" if cell.predicted is None else quantity(cell.predicted.value, cell.unit)
    if cell.published is None:
        return f"{cell.cell}: {here}"
    published = quantity(cell.published, cell.unit)
    return f"{cell.cell}: {here}, published {published}, {percent(cell.relative_error, signed=True)}"


def _row(cell: Prediction, sources: Sequence[str]) -> tuple[Cell, ...]:
    # One source stands below the table, several by number: the texts are too long for a column.
    number = sources.index(cell.source) + 1 if cell.source and len(sources) > 1 else None
    error = cell.relative_error
    tone = Tone.PLAIN if error is None or cell.calibrated else Tone.GOOD if abs(error) <= _CLOSE else Tone.WARN
    return (
        cells.text(cell.cell),
        cells.text(capital(metric(cell.metric).label)),
        cells.quantity(cell.published, cell.unit),
        cells.quantity(None if cell.predicted is None else cell.predicted.value, cell.unit),
        cells.interval(cell.predicted, cell.unit),
        Cell(cell.unit, cell.unit or None),
        cells.share(error, signed=True, tone=tone),
        _standing(cell),
        cells.text(None if number is None else str(number)),
        cells.text(cell.note),
    )


def _standing(cell: Prediction) -> Cell:
    if cell.calibrated:
        return Cell("calibrated", "calibrated", Tone.MUTED)
    if cell.predicted is None:
        return Cell("! not found", "not found", Tone.WARN)
    if cell.relative_error is None:
        return Cell("prediction", "prediction")
    if abs(cell.relative_error) <= _CLOSE:
        return Cell(f"✓ within {percent(_CLOSE)}", "within", Tone.GOOD)
    return Cell(f"! off by more than {percent(_CLOSE)}", "off", Tone.WARN)


SECTION = Section("predictions", "Predictions and publications", 90, ("predictions",), build)
