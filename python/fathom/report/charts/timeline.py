"""What happened over time: one column per variant, one row per quantity, every run a line, equal axes.

Points are joined only where samples follow each other; an interval without a measurement is a gap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.report.format import tick
from fathom.report.series import Points, thin
from fathom.report.style.drawing import (
    SMALL,
    Drawing,
    chart,
    fixed_ticks,
    linear_ticks,
    log_places,
    note,
    top_of,
)
from fathom.report.style.marks import Look, key
from fathom.report.style.palette import light

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEFT, _GAP, _HEAD, _FOOT, _TITLE, _ROW = 56.0, 18.0, 28.0, 44.0, 40.0, 92.0
_MOST_MARKS, _FEW_MARKS = 1200, 150
_MOST_POINTS, _LEAST_COLUMNS = 24_000, 30
"""A picture of many runs gets coarser columns, so that the page stays small; lowest and highest points always stay."""

_FAR_APART = 100.0
_SMALL, _LARGE = 1.7, 3.6
_UNITS = ((7200.0, 3600.0, "h"), (240.0, 60.0, "min"), (0.2, 1.0, "s"), (0.0, 1e-3, "ms"))


@dataclass(frozen=True)
class TimelineRow:
    """One quantity: for each column its lines of (s, value), each with its name ("round 1")."""

    title: str
    unit: str
    lines: tuple[tuple[tuple[str, Points], ...], ...]


@dataclass(frozen=True)
class _Marks:
    """How large the points are, and whether each has one or only those that no line reaches."""

    size: float
    every: bool


@chart
def draw(
    columns: Sequence[Look],
    rows: Sequence[TimelineRow],
    ramps: Sequence[bool],
    ends: Sequence[float] = (),
    marks: Sequence[tuple[float, str]] = (),
) -> Drawing:
    """Small multiples.

    Args:
        columns: the variants.
        rows: the quantities.
        ramps: which columns begin with a warm-up; it lies before 0 s and is shaded.
        ends: of each column's measured phase in s, where lines go on after it; what follows is shaded too.
        marks: (s, name) of moments to mark in every panel, such as where phases begin.
    """
    drawing = Drawing(_HEAD + (_TITLE + _ROW) * len(rows) + _FOOT)
    width = (drawing.width - _LEFT - _GAP * (len(columns) - 1) - 8) / len(columns)
    times = [point[0] for row in rows for lines in row.lines for _, line in lines for point in line]
    begin, end = min([0.0, *times]), max([0.0, *times])
    if begin == end:
        end = 1.0
    scale, unit = next((scale, unit) for least, scale, unit in _UNITS if end - begin >= least)
    lines_drawn = sum(len(lines) for row in rows for lines in row.lines)
    columns_drawn = max(_LEAST_COLUMNS, min(int(width), _MOST_POINTS // (4 * lines_drawn)))
    many = sum(len(line) for row in rows for lines in row.lines for _, line in lines)
    dots = _Marks(_SMALL if many > _FEW_MARKS else _LARGE, every=many <= _MOST_MARKS)
    for column, look in enumerate(columns):
        left = _LEFT + column * (width + _GAP)
        key(drawing, [look], left=left, top=2, width=width)
        drawing.words(left + width, drawing.height - 10, f"time, {unit}", size=SMALL, colour="muted", align="right")
        for index, row in enumerate(rows):
            top = _HEAD + index * (_TITLE + _ROW) + _TITLE
            if column == 0:
                title = f"{row.title}, {row.unit}" if row.unit else row.title
                drawing.words(0, top - 16, title, bold=True)
            axes = drawing.panel(left, top, width, _ROW)
            room = 0.012 * (end - begin)
            axes.set_xlim((begin - room) / scale, (end + room) / scale)
            _scale(axes, row)
            linear_ticks(axes, "x", steps=5 if len(columns) < 3 else 3)
            if column:
                axes.tick_params(labelleft=False)
            if index < len(rows) - 1:
                axes.tick_params(labelbottom=False)
            if ramps[column]:
                _unmeasured(axes, axes.get_xlim()[0], 0)
            if ends and ends[column] < end:
                _unmeasured(axes, axes.get_xlim()[1], ends[column] / scale)
            for name, line in row.lines[column]:
                drawn = tuple((time / scale, value) for time, value in thin(line, columns_drawn))
                _line(drawing, axes, look, drawn, f"{look.label}, {name}", (unit, row.unit), dots)
            for moment, said in marks:
                axes.axvline(moment / scale, color=light("axis"), linewidth=0.9, linestyle=(0, (1, 2)), zorder=0.5)
                if index == 0:
                    note(axes, moment / scale, 0.04, f" {said}", transform=axes.get_xaxis_transform(), va="bottom")
            if not any(line for _, line in row.lines[column]):
                note(axes, 0.5, 0.45, "not measured", align="center", transform=axes.transAxes)
    return drawing


def _scale(axes: Axes, row: TimelineRow) -> None:
    """From 0, or logarithmic where a latency spans more than 100 x."""
    values = [value for lines in row.lines for _, line in lines for _, value in line if not math.isnan(value)]
    positive = [value for value in values if value > 0]
    if row.unit == "ms" and positive and max(positive) > _FAR_APART * min(positive):
        low, high = min(positive) / 1.3, max(positive) * 1.3
        axes.set_yscale("log")
        axes.set_ylim(low, high)
        places = log_places(low, high, 4)
        fixed_ticks(axes, "y", places, [tick(place) for place in places])
    else:
        axes.set_ylim(0, top_of(values))
        linear_ticks(axes, "y", steps=3)


def _unmeasured(axes: Axes, edge: float, border: float) -> None:
    """Shades what lies between the measured phase's border and an edge of the picture."""
    axes.axvspan(*sorted((edge, border)), color=light("raised"), linewidth=0, zorder=0.2)
    axes.axvline(border, color=light("axis"), linewidth=0.8, linestyle=(0, (2, 2)))


def _line(
    drawing: Drawing, axes: Axes, look: Look, line: Points, said: str, units: tuple[str, str], marks: _Marks
) -> None:
    if not line:
        return
    times, values = [time for time, _ in line], [value for _, value in line]
    (drawn,) = axes.plot(times, values, color=look.colour, linewidth=1.0, alpha=0.75)
    drawing.readout(drawn, said, units)
    marked = [index for index in range(len(line)) if marks.every or _isolated(values, index)]
    axes.plot(
        [times[index] for index in marked],
        [values[index] for index in marked],
        linestyle="none",
        marker="o",
        markersize=marks.size,
        color=look.colour,
        markeredgecolor="none",
    )


def _isolated(values: Sequence[float], index: int) -> bool:
    """A point with gaps on both sides, which a line alone would not show."""
    before = values[index - 1] if index else math.nan
    after = values[index + 1] if index + 1 < len(values) else math.nan
    return math.isnan(before) and math.isnan(after)
