"""One log over time: one row per quantity below each other on one clock, with the windows of interest shaded.

Points are joined only where samples follow each other; a gap in the log is a gap in the line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fathom.report.series import Points, thin
from fathom.report.style.axis import value_axis
from fathom.report.style.drawing import WIDTH, Drawing
from fathom.report.style.marks import Appearance, key, key_height
from fathom.report.style.palette import light

_LEFT, _FOOT, _TITLE, _ROW, _RIGHT = 56.0, 40.0, 34.0, 84.0, 26.0
_FEW, _AIR = 150, 6.0


@dataclass(frozen=True)
class StripRow:
    """One quantity: lines of (s since the log's start, value) by the place of their appearance."""

    title: str
    unit: str
    lines: tuple[tuple[int, Points], ...]


@dataclass(frozen=True)
class Span:
    """A window to shade: seconds since the log's start, and its name."""

    label: str
    start: float
    end: float


def draw(
    appearances: Sequence[Appearance],
    rows: Sequence[StripRow],
    spans: Sequence[Span],
    clock: Sequence[tuple[float, str]],
    zone: str,
    width: float = WIDTH,
) -> Drawing:
    """The strip.

    Args:
        appearances: of the lines, also the key.
        rows: the quantities, the first on top.
        spans: windows to shade.
        clock: places on the time axis in s since the log's start, and the time of day they stand for.
        zone: what these times are in, named below the axis.
        width: of the picture, CSS pixels.
    """
    head = 4 + key_height(appearances, width, lines=True)
    drawing = Drawing(head + (_TITLE + _ROW) * len(rows) + _FOOT, width)
    drawing.cut_rows(head + _AIR, _TITLE + _ROW, len(rows))
    key(drawing, appearances, left=0, top=0, width=width, lines=True)
    times = [time for row in rows for _, line in row.lines for time, _ in line]
    begin, end = min(times, default=0.0), max(times, default=1.0)
    end = end if end > begin else begin + 1.0
    room = 0.01 * (end - begin)
    for index, row in enumerate(rows):
        top = head + index * (_TITLE + _ROW) + _TITLE
        drawing.words(0, top - 14, f"{row.title}, {row.unit}" if row.unit else row.title, bold=True)
        axes = drawing.panel(_LEFT, top, width - _LEFT - _RIGHT, _ROW)
        axes.limits("x", begin - room, end + room)
        values = [value for _, line in row.lines for _, value in line if math.isfinite(value)]
        value_axis(axes, values, row.unit)
        axes.ticks("x", [place for place, _ in clock], [text for _, text in clock])
        if index < len(rows) - 1:
            axes.unlabelled("x")
        for span in spans:
            axes.box((span.start, span.end), None, light("band"), order=-1)
            for edge in (span.start, span.end):
                axes.rule("x", edge, light("axis"), dashes=(2, 2), order=-0.5)
            if index == 0:
                middle = (max(span.start, begin) + min(span.end, end)) / 2
                axes.note(middle, 0.06, span.label, colour="ink", align="center", up=True, bold=True)
        for place, line in row.lines:
            drawn = thin(line, int(width / 2))
            appearance = appearances[place]
            axes.line(drawn, appearance.colour, 1.5, series=appearance.label, tip=f"{appearance.label}: {row.title}")
            few = len(drawn) <= _FEW
            alone = [point for at, point in enumerate(drawn) if few or _alone(drawn, at)]
            axes.dots(alone, appearance.colour, 3.2, series=appearance.label)
    drawing.words(width - _RIGHT, drawing.height - 8, zone, size=11, colour="muted", align="right")
    return drawing


def _alone(line: Points, at: int) -> bool:
    """A point with gaps on both sides, which a line would not show."""
    before = line[at - 1][1] if at else math.nan
    after = line[at + 1][1] if at + 1 < len(line) else math.nan
    return math.isnan(before) and math.isnan(after)
