"""Which part of each run counts: a bar per run, pale where the start was cut, a tick at every change of level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.report.format import duration
from fathom.report.style.drawing import SMALL, Drawing, label_column
from fathom.report.style.marks import Appearance
from fathom.report.style.palette import light

_WORDS, _HEAD, _FOOT, _ROW = 130.0, 6.0, 44.0, 22.0


@dataclass(frozen=True)
class SteadyRow:
    """One run: its length, what was cut and where the level changed, all in s since the measured phase began."""

    appearance: Appearance
    round: int
    length_s: float
    cut_s: float
    change_points_s: tuple[float, ...]
    steady: bool


def draw(rows: Sequence[SteadyRow]) -> Drawing:
    """One row per run."""
    drawing = Drawing(_HEAD + _ROW * len(rows) + _FOOT)
    drawing.cut_rows(_HEAD, _ROW, len(rows))
    left = label_column([f"{row.appearance.label}, round {row.round}" for row in rows])
    width = drawing.width - left - _WORDS
    axes = drawing.panel(left, _HEAD, width, _ROW * len(rows), grid="x")
    axes.limits("y", len(rows) - 0.5, -0.5)
    axes.limits("x", 0, max(row.length_s for row in rows) or 1.0)
    axes.linear_ticks("x", 6)
    for place, row in enumerate(rows):
        middle = _HEAD + _ROW * (place + 0.5)
        drawing.words(0, middle, f"{row.appearance.label}, round {row.round}", size=SMALL, width=left - 20)
        drawing.words(
            left + width + 16,
            middle,
            "✓ steady" if row.steady else "! not steady",
            size=SMALL,
            colour="good" if row.steady else "warn",
        )
        axes.line([(0, place), (row.cut_s, place)], light("band"), 9.3, butt=True)
        said = f"counted from {duration(row.cut_s)} to {duration(row.length_s)}"
        axes.line([(row.cut_s, place), (row.length_s, place)], row.appearance.colour, 9.3, butt=True, tip=said)
        for moment in row.change_points_s:
            axes.line([(moment, place - 0.45), (moment, place + 0.45)], light("ink"), 1.9)
    drawing.time_title(left + width)
    return drawing
