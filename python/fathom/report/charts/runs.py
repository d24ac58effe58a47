"""Every run of every variant as a mark, one small panel per metric: the evidence at a glance.

Rows are variants, marks are runs (first round at the top of the row, so that drift shows as a slope), the upright line
is the mean and the grey bar its interval, where the analysis made one. Axes start at 0, or are logarithmic where
values lie far apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.analysis.model import Estimate
from fathom.analysis.words import capital
from fathom.metrics import Metric
from fathom.report.format import has_interval, number, quantity, short_tick
from fathom.report.style.drawing import SMALL, Drawing, label_column
from fathom.report.style.marks import Appearance
from fathom.report.style.palette import light
from fathom.report.style.panel import Panel
from fathom.report.style.ticks import log_places, top_of

_GAP, _HEAD, _FOOT = 30.0, 44.0, 28.0
_FAR_APART, _FAR_OUT = 40.0, 1.4
_WIDE = 220.0


@dataclass(frozen=True)
class RunsPanel:
    """One metric: for each variant its points as (round, value), and the mean if there is one."""

    metric: Metric
    points: tuple[tuple[tuple[int, float], ...], ...]
    means: tuple[Estimate | None, ...]


def draw(appearances: Sequence[Appearance], panels: Sequence[RunsPanel]) -> Drawing:
    """At most four panels beside each other share the rows; three where long names leave no room for a fourth."""
    row = 52.0 if len(appearances) <= 3 else 34.0 if len(appearances) <= 8 else 26.0
    drawing = Drawing(_HEAD + row * len(appearances) + _FOOT)
    drawing.cut_rows(_HEAD, row, len(appearances))
    labels = label_column([appearance.label for appearance in appearances])
    panels = panels[: 3 if labels > _WIDE else 4]
    width = (drawing.width - labels - _GAP * (len(panels) - 1) - 12) / len(panels)
    for place, appearance in enumerate(appearances):
        drawing.words(0, _HEAD + row * (place + 0.5), appearance.label, width=labels - 20)
    for index, panel in enumerate(panels):
        left = labels + index * (width + _GAP)
        unit = f", {panel.metric.unit}" if panel.metric.unit else ""
        drawing.words(
            left,
            14,
            capital(panel.metric.label),
            bold=True,
            width=width + (_GAP - 6 if index < len(panels) - 1 else 12),
        )
        better = {True: "higher is better", False: "lower is better", None: ""}[panel.metric.higher_is_better]
        drawing.words(left, 31, (unit[2:] + (", " if unit and better else "") + better), size=SMALL, colour="muted")
        axes = drawing.panel(left, _HEAD, width, row * len(appearances), grid="x")
        axes.limits("y", len(appearances) - 0.5, -0.5)
        _scale(axes, panel)
        for place, appearance in enumerate(appearances):
            _row(axes, place, appearance, panel)
    return drawing


def _scale(axes: Panel, panel: RunsPanel) -> None:
    """From 0 or, for values far apart, logarithmic; an interval much wider than its points is cut at the edge."""
    values = [value for points in panel.points for _, value in points]
    reach = [mean.high for mean in panel.means if mean is not None and has_interval(mean)]
    positive = [value for value in values if value > 0]
    if positive and len(positive) == len(values) and max(positive) / min(positive) > _FAR_APART:
        low, high = min(positive) / 2.2, max(positive) * 2.2
        axes.limits("x", low, high, log=True)
        places = log_places(low, high, 3)
        axes.ticks("x", places, [short_tick(place) for place in places])
    else:
        most = max(values, default=0.0)
        axes.limits("x", 0, top_of([most, *(min(high, _FAR_OUT * most) for high in reach)]))
        axes.linear_ticks("x", 3, short_tick)


def _row(axes: Panel, place: int, appearance: Appearance, panel: RunsPanel) -> None:
    points = panel.points[place]
    if not points:
        axes.note(0.02, place, "not measured", across=True, rise="middle")
        return
    step = min(0.12, 0.56 / len(points))
    heights = [place + (index - (len(points) - 1) / 2) * step for index in range(len(points))]
    mean = panel.means[place]
    if mean is not None and len(points) > 1:
        if has_interval(mean):
            axes.box((max(mean.low, axes.x.low), mean.high), (place - 0.36, place + 0.36), light("band"))
        axes.line([(mean.value, place - 0.36), (mean.value, place + 0.36)], light("ink"), 1.2)
    axes.marks(
        [(value, height) for (_, value), height in zip(points, heights, strict=True)],
        [f"{appearance.label}, round {turn}: {quantity(value, panel.metric.unit)}" for turn, value in points],
        **appearance.mark(6),
    )
    _value(axes, place, panel, mean.value if mean is not None else points[0][1])


def _value(axes: Panel, place: int, panel: RunsPanel, value: float) -> None:
    """The mean in digits, on the side of the marks where there is more room."""
    reach = [value, *(point for _, point in panel.points[place])]
    left, right = ((axes.x.place(edge) - axes.left) / axes.width for edge in (min(reach), max(reach)))
    at, align = (left - 0.05, "right") if left > 1 - right else (right + 0.05, "left")
    said = number(value, panel.metric.unit)
    axes.note(at, place, said, colour="ink", align=align, rise="middle", across=True)
