"""Predictions beside publications: one row per cell.

A filled mark is what was found here, an open diamond what was published; the error stands in words at the right. A
calibrated cell says so: its agreement proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fathom.analysis.model import Prediction
from fathom.analysis.words import capital
from fathom.metrics import metric
from fathom.report.format import MISSING, has_interval, percent, quantity
from fathom.report.style.axis import log_axis
from fathom.report.style.drawing import SMALL, Drawing, label_column
from fathom.report.style.marks import Appearance
from fathom.report.style.palette import light
from fathom.report.style.ticks import top_of

_WORDS, _TITLE, _FOOT, _ROW = 220.0, 34.0, 34.0, 30.0
_FAR_APART = 60.0


def draw(groups: Sequence[Sequence[Prediction]]) -> Drawing:
    """One panel per group; a group has one metric and one unit."""
    drawing = Drawing(sum(_TITLE + _ROW * len(group) + _FOOT for group in groups))
    left = label_column([cell.cell for group in groups for cell in group], most=330.0)
    top = 0.0
    for group in groups:
        drawing.cuts += [top] if top else []
        _group(drawing, group, left, top)
        top += _TITLE + _ROW * len(group) + _FOOT
    return drawing


def _group(drawing: Drawing, group: Sequence[Prediction], left: float, top: float) -> None:
    width = drawing.width - left - _WORDS
    name = metric(group[0].metric).label
    title = capital(name) + (f", {group[0].unit}" if group[0].unit else "")
    drawing.words(0, top + 14, title, bold=True, width=left + width)
    axes = drawing.panel(left, top + _TITLE, width, _ROW * len(group), grid="x")
    axes.limits("y", len(group) - 0.5, -0.5)
    values = [value for cell in group for value in _values(cell)]
    if values and min(values) > 0 and max(values) / min(values) > _FAR_APART:
        log_axis(axes, "x", values, 1.5, 5)
    else:
        axes.limits("x", 0, top_of(values))
        axes.linear_ticks("x", 4)
    found = Appearance("found here", 0)
    for place, cell in enumerate(group):
        middle = top + _TITLE + _ROW * (place + 0.5)
        drawing.words(0, middle, cell.cell, width=left - 20)
        drawing.words(left + width + 20, middle, _said(cell), size=SMALL, colour="muted", width=_WORDS - 20)
        predicted = cell.predicted
        if predicted is not None and math.isfinite(predicted.value):
            if has_interval(predicted):
                axes.line([(predicted.low, place), (predicted.high, place)], found.colour, 2.7, butt=True)
            said = f"{cell.cell}: found {quantity(predicted.value, cell.unit)}"
            axes.marks([(predicted.value, place)], [said], **found.mark(9))
        if cell.published is not None:
            said = f"{cell.cell}: published {quantity(cell.published, cell.unit)}"
            axes.marks([(cell.published, place)], [said], marker="D", size=9, colour=None, edge=light("ink"),
                       edge_width=1.7)  # fmt: skip


def _values(cell: Prediction) -> list[float]:
    predicted = cell.predicted
    found = [] if predicted is None else [predicted.value]
    if predicted is not None and has_interval(predicted):
        found.append(predicted.high)
    return [value for value in (*found, cell.published) if value is not None and math.isfinite(value)]


def _said(cell: Prediction) -> str:
    if cell.published is None:
        return "prediction, none published"
    error = MISSING if cell.relative_error is None else percent(cell.relative_error, signed=True)
    return f"calibrated, {error}" if cell.calibrated else f"{error} against published"
