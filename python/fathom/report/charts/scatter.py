"""Latency against what might cause it, one panel per quantity, equal latency axes: which of them latency follows.

Both axes start at 0 unless latency spans more than 30 x; then it is logarithmic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.report.format import significant
from fathom.report.style.axis import log_axis
from fathom.report.style.drawing import WIDTH, Drawing
from fathom.report.style.marks import Appearance, key, key_height
from fathom.report.style.ticks import top_of

_LEFT, _GAP, _TITLE, _FOOT, _HEIGHT = 52.0, 22.0, 40.0, 42.0, 210.0
_FAR_APART = 30.0


@dataclass(frozen=True)
class Panel:
    """One quantity: its points as (place of the appearance, value, latency in ms), and what they say in a few words."""

    title: str
    unit: str
    points: tuple[tuple[int, float, float], ...]
    said: str = ""


def draw(appearances: Sequence[Appearance], panels: Sequence[Panel], width: float = WIDTH) -> Drawing:
    """All panels side by side, or below each other where the picture is narrow."""
    stacked = width < WIDTH * 0.7
    across = 1 if stacked else len(panels)
    wide = (width - _LEFT - _GAP * (across - 1) - 8) / across
    head = 6 + key_height(appearances, width)
    tall = _TITLE + _HEIGHT + _FOOT
    drawing = Drawing(head + tall * (len(panels) if stacked else 1), width)
    key(drawing, appearances, left=0, top=0, width=width)
    latencies = [latency for panel in panels for _, _, latency in panel.points if latency > 0]
    logarithmic = bool(latencies) and max(latencies) > _FAR_APART * min(latencies)
    for index, panel in enumerate(panels):
        left = _LEFT + (0 if stacked else index * (wide + _GAP))
        top = head + _TITLE + (index * tall if stacked else 0)
        drawing.words(left if index and not stacked else 0, top - 26, f"Latency, ms, by {panel.title}", bold=True,
                      width=wide + (0 if index and not stacked else _LEFT))  # fmt: skip
        drawing.words(left if index and not stacked else 0, top - 10, panel.said, size=11, colour="muted", width=wide)
        axes = drawing.panel(left, top, wide, _HEIGHT, grid="xy", frame="bl")
        if logarithmic:
            log_axis(axes, "y", latencies, 1.4, 6)
        else:
            axes.limits("y", 0, top_of(latencies))
            axes.linear_ticks("y", 5)
        axes.limits("x", 0, top_of([value for _, value, _ in panel.points]))
        axes.linear_ticks("x", 4)
        if index and not stacked:
            axes.unlabelled("y")
        drawing.words(left + wide, top + _HEIGHT + 30, panel.unit, size=11, colour="muted", align="right")
        for place in sorted({point[0] for point in panel.points}, reverse=True):
            mine = [point for point in panel.points if point[0] == place and (point[2] > 0 or not logarithmic)]
            said = f"{appearances[place].label}: " if appearances[place].label else ""
            tips = [f"{said}{significant(x)} {panel.unit}, {significant(y)} ms" for _, x, y in mine]
            axes.marks([(x, y) for _, x, y in mine], tips, **appearances[place].mark(6))
    return drawing
