"""Cells and columns of the kinds that tables of several sections share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from fathom.analysis.model import Estimate
from fathom.analysis.words import capital
from fathom.report.document import Cell, Column, Tone
from fathom.report.format import MISSING, duration, has_interval, number, percent, significant
from fathom.report.format import interval as interval_text
from fathom.report.format import ratio_interval as ratio_interval_text


def text(value: str | None, tone: Tone = Tone.PLAIN) -> Cell:
    """Words; a dash where there are none."""
    return Cell(value, value, tone) if value else Cell(MISSING, None, Tone.MUTED)


def quantity(value: float | None, unit: str, tone: Tone = Tone.PLAIN) -> Cell:
    """A number whose unit stands in the column's head."""
    return _known(value, number(value, unit), tone)


def at_least(cell: Cell) -> Cell:
    """A figure that is a lower bound."""
    return cell if cell.value is None else replace(cell, text=f"≥ {cell.text}")


THIN = " ?"
"""Behind a percentile that too few requests stand behind."""


def thin(cell: Cell) -> Cell:
    """Such a percentile."""
    return cell if cell.value is None else replace(cell, text=f"{cell.text}{THIN}", tone=Tone.MUTED)


def share(value: float | None, *, signed: bool = False, tone: Tone = Tone.PLAIN) -> Cell:
    """A fraction shown as per cent; the export keeps the fraction."""
    return _known(value, percent(value, signed=signed), tone)


def seconds(value: float | None) -> Cell:
    """A length of time, exported in s."""
    return _known(value, duration(value), Tone.PLAIN)


def plain_number(value: float | None, digits: int = 3) -> Cell:
    """A number without a unit."""
    return _known(value, significant(value, digits), Tone.PLAIN)


def interval(estimate: Estimate | None, unit: str) -> Cell:
    """Both ends of an interval."""
    if estimate is None or not has_interval(estimate):
        return Cell(MISSING, None, Tone.MUTED)
    return Cell(
        interval_text(estimate, unit), f"{estimate.low:.6g} to {estimate.high:.6g}", ends=(estimate.low, estimate.high)
    )


def ratio_interval(estimate: Estimate | None) -> Cell:
    """Both ends of the interval of a ratio."""
    if estimate is None or not has_interval(estimate):
        return Cell(MISSING, None, Tone.MUTED)
    return Cell(
        ratio_interval_text(estimate), f"{estimate.low:.6g} to {estimate.high:.6g}", ends=(estimate.low, estimate.high)
    )


def whole(value: int | None) -> Cell:
    """An integer."""
    return Cell(MISSING, None, Tone.MUTED) if value is None else Cell(f"{value:,}", value)


def _known(value: float | None, shown: str, tone: Tone) -> Cell:
    if value is None or not math.isfinite(value):
        return Cell(MISSING, None, Tone.MUTED)
    return Cell(shown, value, tone)


def with_unit(label: str, unit: str) -> str:
    """A column's head: `Mean latency, ms`."""
    return f"{capital(label)}, {unit}" if unit else capital(label)


def values(key: str, label: str) -> Column:
    """A column of numbers."""
    return Column(key, label, numeric=True)


def without_empty(
    columns: Sequence[Column], rows: Sequence[tuple[Cell, ...]]
) -> tuple[tuple[Column, ...], tuple[tuple[Cell, ...], ...]]:
    """The table without columns in which no row has a value."""
    kept = [i for i in range(len(columns)) if not rows or any(row[i].value is not None for row in rows)]
    return tuple(columns[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in rows)
