"""What happened over time: one column per variant, one row per quantity, every run a line, equal axes.

Points are joined only where samples follow each other; an interval without a measurement is a gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fathom.report.series import Points, thin
from fathom.report.style.axis import value_axis
from fathom.report.style.drawing import NARROW, SMALL, WIDTH, Drawing
from fathom.report.style.marks import Appearance, heads
from fathom.report.style.palette import light
from fathom.report.style.panel import Panel

_LEFT, _GAP, _HEAD, _FOOT, _TITLE, _ROW = 56.0, 18.0, 28.0, 44.0, 40.0, 92.0
_MOST_MARKS, _FEW_MARKS = 1200, 150
_MOST_POINTS, _LEAST_COLUMNS = 7_000, 18
"""A picture of many runs gets coarser columns, so that the page stays small; lowest and highest points always stay."""

_SMALL, _LARGE = 2.3, 4.8
_ROOMY = 300.0
"""From this width of a column on, in pixels, five figures stand below its axis."""
_AIR = 10.0
"""Between the lower edge of a row, where its lines may be a little below, and a cut."""
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


def draw(
    columns: Sequence[Appearance],
    rows: Sequence[TimelineRow],
    ramps: Sequence[bool],
    ends: Sequence[float] = (),
    marks: Sequence[tuple[float, str]] = (),
    width: float = WIDTH,
) -> Drawing:
    """Small multiples.

    Args:
        columns: the variants.
        rows: the quantities.
        ramps: which columns begin with a warm-up; it lies before 0 s and is shaded.
        ends: of each column's measured phase in s, where lines go on after it; what follows is shaded too.
        marks: (s, name) of moments to mark in every panel, such as where phases begin.
        width: of the picture in CSS pixels.
    """
    drawing = _surface(len(rows), width)
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
    lefts = [_LEFT + column * (width + _GAP) for column in range(len(columns))]
    heads(drawing, columns, lefts=lefts, top=2, width=width)
    for column, (appearance, left) in enumerate(zip(columns, lefts, strict=True)):
        drawing.words(left + width, drawing.height - 10, f"time, {unit}", size=SMALL, colour="muted", align="right")
        for index, row in enumerate(rows):
            top = _HEAD + index * (_TITLE + _ROW) + _TITLE
            if column == 0:
                title = f"{row.title}, {row.unit}" if row.unit else row.title
                drawing.words(0, top - 16, title, bold=True, width=drawing.width)
            axes = drawing.panel(left, top, width, _ROW)
            room = 0.012 * (end - begin)
            axes.limits("x", (begin - room) / scale, (end + room) / scale)
            values = (value for lines in row.lines for _, line in lines for _, value in line)
            value_axis(axes, (value for value in values if not math.isnan(value)), row.unit)
            axes.linear_ticks("x", 5 if width > _ROOMY else 3)
            if column:
                axes.unlabelled("y")
            if index < len(rows) - 1:
                axes.unlabelled("x")
            if ramps[column]:
                _unmeasured(axes, axes.x.low, 0)
            if ends and ends[column] < end:
                _unmeasured(axes, axes.x.high, ends[column] / scale)
            for name, line in row.lines[column]:
                drawn = tuple((time / scale, value) for time, value in thin(line, columns_drawn))
                _line(axes, appearance, drawn, f"{appearance.label}, {name}", (unit, row.unit), dots)
            for moment, said in marks:
                axes.rule("x", moment / scale, light("axis"), 1.2, dashes=(1, 2), order=0.5)
                if index == 0 and said:
                    axes.note(moment / scale, 0.04, f" {said}", up=True)
            if not any(line for _, line in row.lines[column]):
                axes.note(0.5, 0.45, "not measured", align="center", across=True, up=True)
    return drawing


def pictures(
    columns: Sequence[Appearance],
    rows: Sequence[TimelineRow],
    ramps: Sequence[bool],
    few: Sequence[int] = (0, 1),
    ends: Sequence[float] = (),
    marks: Sequence[tuple[float, str]] = (),
) -> tuple[Callable[[], Drawing], Callable[[], Drawing]]:
    """The picture, and the one for a narrow page: the columns `few` alone, or the first where these have none."""
    unnamed = [(moment, "") for moment, _ in marks]  # The caption names them in their order.
    few = [place for place in few if place < len(columns)] or [0]

    def narrow() -> Drawing:
        fewer = [replace(row, lines=tuple(row.lines[place] for place in few)) for row in rows]
        mine = [columns[place] for place in few], fewer, [ramps[place] for place in few]
        return draw(*mine, [ends[place] for place in few] if ends else (), unnamed, NARROW)

    return lambda: draw(columns, rows, ramps, ends, marks), narrow


def _surface(rows: int, width: float) -> Drawing:
    drawing = Drawing(_HEAD + (_TITLE + _ROW) * rows + _FOOT, width)
    if width == WIDTH:  # Nobody prints the narrow one.
        drawing.cut_rows(_HEAD + _AIR, _TITLE + _ROW, rows)
    return drawing


def _unmeasured(axes: Panel, edge: float, border: float) -> None:
    """Shades what lies between the measured phase's border and an edge of the picture."""
    axes.box((edge, border), None, light("raised"), order=-1)
    axes.rule("x", border, light("axis"), dashes=(2, 2))


def _line(axes: Panel, appearance: Appearance, line: Points, said: str, units: tuple[str, str], marks: _Marks) -> None:
    if not line:
        return
    readable = None if axes.y.log else units
    axes.line(line, appearance.colour, 1.3, alpha=0.75, series=appearance.label, tip=said, units=readable)
    values = [value for _, value in line]
    marked = [point for index, point in enumerate(line) if marks.every or _isolated(values, index)]
    axes.dots(marked, appearance.colour, marks.size, series=appearance.label)


def _isolated(values: Sequence[float], index: int) -> bool:
    """A point with gaps on both sides, which a line alone would not show."""
    before = values[index - 1] if index else math.nan
    after = values[index + 1] if index + 1 < len(values) else math.nan
    return math.isnan(before) and math.isnan(after)
