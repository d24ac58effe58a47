"""Latency percentiles: x stretches the tail (log of 1/(1-p)), y is latency on a logarithmic axis, every run a line.

A curve is drawn pale beyond the point where fewer than ten requests lie: what is there may be chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fathom.analysis.words import capital
from fathom.report.format import tick
from fathom.report.series import Points
from fathom.report.style.drawing import WIDTH, Drawing
from fathom.report.style.marks import Appearance, key, key_height
from fathom.report.style.ticks import log_places

_LEFT, _GAP, _TITLE, _FOOT, _HEIGHT = 56.0, 44.0, 28.0, 30.0, 250.0
_FASTEST = 0.02
"""x of the 4.5 % fastest requests: below it a curve drops out of the picture."""
_NINES = ("0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %", "99.99999 %")


@dataclass(frozen=True)
class Curve:
    """One run: (log10(1/(1-p)), ms), solid up to `thin_from`; `place` is its variant's place in the key."""

    place: int
    round: int
    points: Points
    thin_from: float


@dataclass(frozen=True)
class PercentilePanel:
    """One operation's latency (`title` says which and where) and the curves of all runs."""

    title: str
    curves: tuple[Curve, ...]


def draw(appearances: Sequence[Appearance], panels: Sequence[PercentilePanel]) -> Drawing:
    """Panels side by side with equal axes."""
    head = 8 + key_height(appearances, WIDTH - _LEFT, lines=True)
    drawing = Drawing(head + _TITLE + _HEIGHT + _FOOT)
    key(drawing, appearances, left=_LEFT, top=2, width=WIDTH - _LEFT, lines=True)
    width = (drawing.width - _LEFT - _GAP * (len(panels) - 1) - 20) / len(panels)
    points = [point for panel in panels for curve in panel.curves for point in curve.points]
    right = max(1.0, *(x for x, _ in points)) * 1.02
    low = min((y for x, y in points if x >= _FASTEST), default=min(y for _, y in points)) / 1.25
    high = max(y for _, y in points) * 1.25
    for index, panel in enumerate(panels):
        left = _LEFT + index * (width + _GAP)
        drawing.words(left, head + 10, f"{capital(panel.title)}, ms", bold=True)
        axes = drawing.panel(left, head + _TITLE, width, _HEIGHT, grid="xy")
        axes.limits("y", low, high, log=True)
        axes.limits("x", 0, right)
        places = log_places(low, high)
        axes.ticks("y", places, [tick(place) for place in places])
        nines = [(math.log10(2.0), "50 %"), *[(float(n), _NINES[n]) for n in range(1, min(int(right), 7) + 1)]]
        axes.ticks("x", [x for x, _ in nines], [text for _, text in nines])
        for curve in panel.curves:
            appearance = appearances[curve.place]
            for part, alpha in zip(_split(curve), (0.85, 0.3), strict=True):
                if len(part) > 1:
                    axes.line(part, **appearance.line(1.7), alpha=alpha, tip=f"{appearance.label}, round {curve.round}")
    return drawing


def _split(curve: Curve) -> tuple[Points, Points]:
    """The curve up to where it gets thin, and from there on."""
    before = [point for point in curve.points if point[0] <= curve.thin_from]
    after = [point for point in curve.points if point[0] > curve.thin_from]
    if before and after:
        (x0, y0), (x1, y1) = before[-1], after[0]
        border = (curve.thin_from, y0 + (y1 - y0) * (curve.thin_from - x0) / (x1 - x0))
        before, after = [*before, border], [border, *after]
    return tuple(before), tuple(after)
