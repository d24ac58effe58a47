"""Which part of each run counts: a bar per run, pale where the start was cut, a tick at every change of level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.report.format import duration
from fathom.report.style.drawing import SMALL, Drawing, chart, fixed_ticks, label_column, linear_ticks
from fathom.report.style.marks import Look
from fathom.report.style.palette import light

_WORDS, _HEAD, _FOOT, _ROW = 130.0, 6.0, 44.0, 22.0


@dataclass(frozen=True)
class SteadyRow:
    """One run: its length, what was cut and where the level changed, all in s since the measured phase began."""

    look: Look
    round: int
    length_s: float
    cut_s: float
    change_points_s: tuple[float, ...]
    steady: bool


@chart
def draw(rows: Sequence[SteadyRow]) -> Drawing:
    """One row per run."""
    drawing = Drawing(_HEAD + _ROW * len(rows) + _FOOT)
    left = label_column([f"{row.look.label}, round {row.round}" for row in rows])
    width = drawing.width - left - _WORDS
    axes = drawing.panel(left, _HEAD, width, _ROW * len(rows), grid="x")
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, max(row.length_s for row in rows) or 1.0)
    fixed_ticks(axes, "y", [], [])
    linear_ticks(axes, "x", steps=6)
    for place, row in enumerate(rows):
        middle = _HEAD + _ROW * (place + 0.5)
        drawing.words(0, middle, f"{row.look.label}, round {row.round}", size=SMALL, width=left - 20)
        drawing.words(
            left + width + 16,
            middle,
            "✓ steady" if row.steady else "! not steady",
            size=SMALL,
            colour="good" if row.steady else "warn",
        )
        axes.plot([0, row.cut_s], [place, place], color=light("band"), linewidth=7, solid_capstyle="butt")
        (kept,) = axes.plot(
            [row.cut_s, row.length_s], [place, place], color=row.look.colour, linewidth=7, solid_capstyle="butt"
        )
        drawing.tip(kept, [f"counted from {duration(row.cut_s)} to {duration(row.length_s)}"])
        for moment in row.change_points_s:
            axes.plot([moment, moment], [place - 0.45, place + 0.45], color=light("ink"), linewidth=1.4)
    drawing.words(
        left + width,
        drawing.height - 10,
        "time since the measured phase began, s",
        size=SMALL,
        colour="muted",
        align="right",
    )
    return drawing
