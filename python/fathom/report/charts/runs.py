"""Every run of every variant as a mark, one small panel per metric: the evidence at a glance.

Rows are variants, marks are runs (first round at the top of the row, so that drift shows as a slope), the upright line
is the mean and the grey bar its interval, where the analysis made one. Axes start at 0, or are logarithmic where
values lie far apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.analysis.model import Estimate
from fathom.analysis.words import capital, short
from fathom.metrics import Metric
from fathom.report.format import has_interval, number, quantity, short_tick
from fathom.report.plain import apart
from fathom.report.style.drawing import NARROW, SMALL, WIDTH, Drawing, label_column, text_width
from fathom.report.style.marks import Appearance
from fathom.report.style.palette import light
from fathom.report.style.panel import Panel
from fathom.report.style.ticks import log_places, top_of

_GAP, _HEAD, _FOOT = 30.0, 44.0, 28.0
_FAR_APART, _FAR_OUT = 40.0, 1.4
_WIDE = 220.0
_AIR, _BOLD = 20.0, 1.1  # A bold letter is a tenth wider.
_NAMES = 196.0
"""The most that the names of rows take of a narrow page, in pixels, with the air to their right."""
_SPILL, _STEP, _MOST_STEPS = 12.0, 1.1, 12
"""Pixels beside a panel that digits may take; how an axis grows until they fit."""
_MOST_BELOW = 2
"""Panels that stand below each other on a narrow page."""


@dataclass(frozen=True)
class RunsPanel:
    """One metric: for each variant its points as (round, value), and the mean if there is one."""

    metric: Metric
    points: tuple[tuple[tuple[int, float], ...], ...]
    means: tuple[Estimate | None, ...]


def draw(appearances: Sequence[Appearance], panels: Sequence[RunsPanel]) -> Drawing:
    """At most four panels beside each other share the rows; three where long names leave no room for a fourth."""
    row = _row_height(appearances)
    drawing = Drawing(_HEAD + row * len(appearances) + _FOOT)
    drawing.cut_rows(_HEAD, row, len(appearances))
    names = [appearance.label for appearance in appearances]
    labels = label_column(names)
    panels = panels[: 3 if labels > _WIDE else 4]
    width = (drawing.width - labels - _GAP * (len(panels) - 1) - 12) / len(panels)
    _names(drawing, _HEAD, row, names, labels)
    for index, panel in enumerate(panels):
        left = labels + index * (width + _GAP)
        room = width + (_GAP - 6 if index < len(panels) - 1 else 12)
        _panel(drawing, (left, 0.0), (width, row), appearances, panel, room)
    return drawing


def draw_narrow(appearances: Sequence[Appearance], panels: Sequence[RunsPanel]) -> Drawing:
    """The first panels below each other for a narrow page, each with its rows' names."""
    row = _row_height(appearances)
    panels = panels[:_MOST_BELOW]
    each = _HEAD + row * len(appearances) + _FOOT
    drawing = Drawing(each * len(panels), NARROW)
    names = [appearance.label for appearance in appearances]
    if any(text_width(name) > _NAMES - _AIR for name in names):
        names = apart(names)
    labels = label_column(names, most=_NAMES)
    for index, panel in enumerate(panels):
        _names(drawing, index * each + _HEAD, row, names, labels)
        _panel(drawing, (labels, index * each), (NARROW - labels - _AIR, row), appearances, panel, NARROW)
    return drawing


def _row_height(appearances: Sequence[Appearance]) -> float:
    return 52.0 if len(appearances) <= 3 else 34.0 if len(appearances) <= 8 else 26.0


def _names(drawing: Drawing, top: float, row: float, names: Sequence[str], width: float) -> None:
    for place, name in enumerate(names):
        drawing.words(0, top + row * (place + 0.5), name, width=width - _AIR)


def _panel(
    drawing: Drawing,
    corner: tuple[float, float],
    size: tuple[float, float],
    appearances: Sequence[Appearance],
    panel: RunsPanel,
    room: float,
) -> None:
    """One metric: title, what is better, and a row of that height per variant; `room` is what the title may take."""
    (left, top), (width, row) = corner, size
    begin = left if drawing.width == WIDTH else 0.0
    whole = text_width(panel.metric.label) * _BOLD <= room
    title = panel.metric.label if whole else short(panel.metric.name)
    drawing.words(begin, top + 14, capital(title), bold=True, width=room)
    better = {True: "higher is better", False: "lower is better", None: ""}[panel.metric.higher_is_better]
    unit = ", ".join(word for word in (panel.metric.unit, better) if word)
    drawing.words(begin, top + 31, unit, size=SMALL, colour="muted")
    axes = drawing.panel(left, top + _HEAD, width, row * len(appearances), grid="x")
    axes.limits("y", len(appearances) - 0.5, -0.5)
    _scale(axes, panel)
    for place, appearance in enumerate(appearances):
        _row(axes, place, appearance, panel)


def _scale(axes: Panel, panel: RunsPanel) -> None:
    """From 0 or, for values far apart, logarithmic; an interval much wider than its points is cut at the edge.

    It ends where the digits beside every row's marks fit: beyond it they would stand on the panel beside this one.
    """
    values = [value for points in panel.points for _, value in points]
    reach = [mean.high for mean in panel.means if mean is not None and has_interval(mean)]
    positive = [value for value in values if value > 0]
    if positive and len(positive) == len(values) and max(positive) / min(positive) > _FAR_APART:
        low, high = min(positive) / 2.2, max(positive) * 2.2
        _limits(axes, panel, low, high, log=True)
        low, high = axes.x.low, axes.x.high
        places = log_places(low, high, 3)
        axes.ticks("x", places, [short_tick(place) for place in places])
    else:
        most = max(values, default=0.0)
        _limits(axes, panel, 0, top_of([most, *(min(high, _FAR_OUT * most) for high in reach)]), log=False)
        axes.linear_ticks("x", 3, short_tick)


def _limits(axes: Panel, panel: RunsPanel, low: float, high: float, *, log: bool) -> None:
    axes.limits("x", low, high, log=log)
    for _ in range(_MOST_STEPS):
        if all(_fits(axes, place, panel) for place, points in enumerate(panel.points) if points):
            return
        high *= _STEP
        axes.limits("x", low, high, log=log)


def _fits(axes: Panel, place: int, panel: RunsPanel) -> bool:
    at, align, said = _value(place, panel, axes)
    wide = text_width(said, SMALL) / axes.width
    return at - wide >= -_SPILL / axes.width if align == "right" else at + wide <= 1 + _SPILL / axes.width


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
    at, align, said = _value(place, panel, axes)
    axes.note(at, place, said, colour="ink", align=align, rise="middle", across=True)


def _value(place: int, panel: RunsPanel, axes: Panel) -> tuple[float, str, str]:
    """The mean in digits, on the side of the marks where there is more room: place as a share of the width, side."""
    mean, points = panel.means[place], [point for _, point in panel.points[place]]
    value = mean.value if mean is not None else points[0]
    reach = [value, *points]
    left, right = ((axes.x.place(edge) - axes.left) / axes.width for edge in (min(reach), max(reach)))
    at, align = (left - 0.05, "right") if left > 1 - right else (right + 0.05, "left")
    return at, align, number(value, panel.metric.unit)
