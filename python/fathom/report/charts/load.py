"""Throughput against load: every run a mark, means with intervals, and what limits it.

The two thin lines are the asymptotic bounds (N / R0 and the ceiling), which cross at the knee; the dashed curve is the
Universal Scalability Law with the parameters of the analysis. A second panel shows latency over the same load.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fathom.analysis.model import Estimate, Knee, ScalabilityFit
from fathom.analysis.words import capital
from fathom.metrics import Metric
from fathom.report.format import has_interval, quantity, significant, tick
from fathom.report.style.axis import log_axis
from fathom.report.style.drawing import WIDTH, Drawing
from fathom.report.style.marks import Appearance, key, key_height
from fathom.report.style.palette import light
from fathom.report.style.panel import Panel
from fathom.report.style.ticks import top_of

_LEFT, _RIGHT, _TITLE, _FOOT, _MAIN, _SECOND = 64.0, 24.0, 42.0, 48.0, 260.0, 130.0
_LATENCY_FAR_APART = 100.0
_FAR_APART = 16.0
_CURVE_POINTS = 80
_INTERVALS_UP_TO = 2.0
"""Times the highest mark up to which the axis follows intervals; longer ones are cut at its end."""


@dataclass(frozen=True)
class LoadSeries:
    """One line: points (load, round, value) of all runs, and means by load where the analysis made them."""

    appearance: Appearance
    points: tuple[tuple[float, int, float], ...]
    means: tuple[tuple[float, Estimate], ...]
    knee: Knee | None = None
    fit: ScalabilityFit | None = None


@dataclass(frozen=True)
class LoadPanel:
    """One metric over the load."""

    metric: Metric
    series: tuple[LoadSeries, ...]


def draw(load: str, panels: Sequence[LoadPanel], width: float = WIDTH) -> Drawing:
    """The first panel is the throughput and the larger one; `load` names the load for people."""
    heights = [_MAIN, *[_SECOND] * (len(panels) - 1)]
    appearances = [series.appearance for series in panels[0].series]
    several = len(appearances) > 1
    left = _LEFT if width == WIDTH else 0.0
    top = key_height(appearances, width - left, lines=True) if several else 0.0
    drawing = Drawing(top + sum(heights) + _TITLE * len(panels) + _FOOT, width)
    if several:
        key(drawing, appearances, left=left, top=2, width=width - left, lines=True)
    loads = [point[0] for panel in panels for series in panel.series for point in series.points]
    for index, (panel, height) in enumerate(zip(panels, heights, strict=True)):
        metric = panel.metric
        title = capital(metric.label) + (f", {metric.unit}" if metric.unit else "")
        drawing.words(0, top + 16, title, bold=True, width=width)
        axes = drawing.panel(_LEFT, top + _TITLE, drawing.width - _LEFT - _RIGHT, height, frame="bl")
        _value_axis(axes, panel, steps=5 if index == 0 else 3)
        _load_axis(axes, loads, round(8 * width / WIDTH))
        if index < len(panels) - 1:
            axes.unlabelled("x")
        for series in panel.series:
            _limits(axes, series)
            _series(axes, load, metric, series)
        top += _TITLE + height
    drawing.words(drawing.width - _RIGHT, top + 36, load, colour="muted", size=11, align="right")
    return drawing


def _load_axis(axes: Panel, loads: Sequence[float], steps: int) -> None:
    """Powers of two where the loads span them, else a linear axis from 0, with about so many ticks."""
    low, high = min(loads), max(loads)
    if low <= 0 or high / low < _FAR_APART:
        axes.limits("x", 0, high * 1.04)
        axes.linear_ticks("x", steps)
        return
    axes.limits("x", low / 1.25, high * 1.25, log=True)
    powers = range(math.ceil(math.log2(low / 1.25)), math.floor(math.log2(high * 1.25)) + 1)
    stride = max(1, math.ceil(len(powers) / (steps + 2)))
    axes.ticks("x", [2.0**power for power in powers[::stride]], [tick(2.0**power) for power in powers[::stride]])


def _value_axis(axes: Panel, panel: LoadPanel, steps: int) -> None:
    """From 0, or logarithmic where a latency spans more than 100 x."""
    values = [value for series in panel.series for _, _, value in series.points if value > 0]
    if panel.metric.unit == "ms" and values and max(values) > _LATENCY_FAR_APART * min(values):
        log_axis(axes, "y", values, 1.5, 4)
    else:
        axes.limits("y", 0, _top(panel))
        axes.linear_ticks("y", steps)


def _top(panel: LoadPanel) -> float:
    values = [value for series in panel.series for _, _, value in series.points]
    highs = [mean.high for series in panel.series for _, mean in series.means if has_interval(mean)]
    # The interval of two rounds may be a hundred times as high as they are: it must not flatten what was measured.
    values += [min(high, _INTERVALS_UP_TO * max(values)) for high in highs if values]
    measured = max(values, default=0.0)
    loads = {load for series in panel.series for load, _, _ in series.points}
    curves = [_usl(load, fit) for series in panel.series if (fit := series.fit) is not None for load in loads]
    values += [value for value in curves if value <= 1.5 * measured]
    values += [series.knee.throughput_ceiling.value for series in panel.series if series.knee is not None]
    return top_of(values, 0.12)


def _series(axes: Panel, load: str, metric: Metric, series: LoadSeries) -> None:
    appearance = series.appearance
    for place, mean in series.means:
        if has_interval(mean):
            ends = [(place, max(mean.low, axes.y.low)), (place, min(mean.high, axes.y.high))]
            axes.line(ends, appearance.colour, 4.7, alpha=0.35, butt=True, series=appearance.label)
    axes.line([(place, mean.value) for place, mean in series.means], **appearance.line(1.9))
    axes.marks(
        [(x, y) for x, _, y in series.points],
        [
            f"{appearance.label}, {load} {tick(x)}, round {number}: {quantity(y, metric.unit)}"
            for x, number, y in series.points
        ],
        **appearance.mark(6),
    )


def _limits(axes: Panel, series: LoadSeries) -> None:
    left, right = axes.x.low, axes.x.high
    first = max(left, right * 1e-6)
    grow = axes.x.log
    steps = [step / _CURVE_POINTS for step in range(_CURVE_POINTS + 1)]
    loads = [first * (right / first) ** step if grow else first + (right - first) * step for step in steps]
    fit = series.fit
    if fit is not None:
        curve = [(load, _usl(load, fit)) for load in loads]
        axes.line(curve, light("muted"), 1.5, dashes=(5, 3), order=1.5, series=series.appearance.label)
    knee = series.knee
    if knee is None:
        return
    ceiling, bend = knee.throughput_ceiling.value, knee.n_star.value
    corner = sorted([*loads, bend]) if first < bend < right else loads
    axes.line([(load, min(load / bend, 1.0) * ceiling) for load in corner], light("axis"), 1.2, order=1)
    if has_interval(knee.n_star):
        axes.box((knee.n_star.low, min(knee.n_star.high, right)), None, light("band"), alpha=0.6, order=-1)
    if bend < right:
        axes.rule("x", bend, light("ink"), 1.2, dashes=(2, 2), order=1)
        at = bend * 1.02 if grow else bend + 0.006 * (right - left)
        axes.note(at, 0.03, f"knee at {significant(bend, 2)}", colour="ink", up=True)
    cause = f": {knee.bottleneck}" if knee.bottleneck else ""
    axes.note(0.012, ceiling, f"ceiling{cause}", across=True, rise="above")
    axes.line([(first, ceiling), (bend, ceiling)], light("axis"), 1.2, dashes=(1, 2), order=1)


def _usl(load: float, fit: ScalabilityFit) -> float:
    """The Universal Scalability Law (Gunther, "Guerrilla Capacity Planning", 2007, chapter 4) at one load."""
    contention, coherency = fit.alpha.value * (load - 1), fit.beta.value * load * (load - 1)
    return fit.gamma.value * load / (1 + contention + coherency)
