"""Throughput against load: every run a mark, means with intervals, and what limits it.

The two thin lines are the asymptotic bounds (N / R0 and the ceiling), which cross at the knee; the dashed curve is the
Universal Scalability Law with the parameters of the analysis. A second panel shows latency over the same load.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.analysis.model import Estimate, Knee, ScalabilityFit
from fathom.metrics import Metric
from fathom.report.format import has_interval, quantity, significant, tick
from fathom.report.plain import capital
from fathom.report.style.drawing import WIDTH, Drawing, chart, fixed_ticks, linear_ticks, log_places, note, top_of
from fathom.report.style.marks import Look, key, key_height
from fathom.report.style.palette import light

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEFT, _RIGHT, _TITLE, _FOOT, _MAIN, _SECOND = 64.0, 24.0, 42.0, 48.0, 260.0, 130.0
_LATENCY_FAR_APART = 100.0
_FAR_APART = 16.0
_CURVE_POINTS = 80


@dataclass(frozen=True)
class LoadSeries:
    """One line: points (load, round, value) of all runs, and means by load where the analysis made them."""

    look: Look
    points: tuple[tuple[float, int, float], ...]
    means: tuple[tuple[float, Estimate], ...]
    knee: Knee | None = None
    fit: ScalabilityFit | None = None


@dataclass(frozen=True)
class LoadPanel:
    """One metric over the load."""

    metric: Metric
    series: tuple[LoadSeries, ...]


@chart
def draw(load: str, panels: Sequence[LoadPanel]) -> Drawing:
    """The first panel is the throughput and the larger one; `load` names the load for people."""
    heights = [_MAIN, *[_SECOND] * (len(panels) - 1)]
    looks = [series.look for series in panels[0].series]
    several = len(looks) > 1
    top = key_height(looks, WIDTH - _LEFT, lines=True) if several else 0.0
    drawing = Drawing(top + sum(heights) + _TITLE * len(panels) + _FOOT)
    if several:
        key(drawing, looks, left=_LEFT, top=2, width=WIDTH - _LEFT, lines=True)
    loads = [point[0] for panel in panels for series in panel.series for point in series.points]
    for index, (panel, height) in enumerate(zip(panels, heights, strict=True)):
        metric = panel.metric
        title = capital(metric.label) + (f", {metric.unit}" if metric.unit else "")
        drawing.words(0, top + 16, title, bold=True)
        axes = drawing.panel(_LEFT, top + _TITLE, drawing.width - _LEFT - _RIGHT, height, frame="bl")
        _value_axis(axes, panel, steps=5 if index == 0 else 3)
        _load_axis(axes, loads)
        if index < len(panels) - 1:
            axes.tick_params(labelbottom=False)
        for series in panel.series:
            _limits(axes, series)
            _series(drawing, axes, load, metric, series)
        top += _TITLE + height
    drawing.words(drawing.width - _RIGHT, top + 36, load, colour="muted", size=11, align="right")
    return drawing


def _load_axis(axes: Axes, loads: Sequence[float]) -> None:
    """Powers of two where the loads span them, else a linear axis from 0."""
    low, high = min(loads), max(loads)
    if low <= 0 or high / low < _FAR_APART:
        axes.set_xlim(0, high * 1.04)
        linear_ticks(axes, "x", steps=8)
        return
    axes.set_xscale("log", base=2)
    axes.set_xlim(low / 1.25, high * 1.25)
    powers = range(math.ceil(math.log2(low / 1.25)), math.floor(math.log2(high * 1.25)) + 1)
    stride = max(1, math.ceil(len(powers) / 10))
    fixed_ticks(axes, "x", [2.0**power for power in powers[::stride]], [tick(2.0**power) for power in powers[::stride]])


def _value_axis(axes: Axes, panel: LoadPanel, steps: int) -> None:
    """From 0, or logarithmic where a latency spans more than 100 x."""
    values = [value for series in panel.series for _, _, value in series.points if value > 0]
    if panel.metric.unit == "ms" and values and max(values) > _LATENCY_FAR_APART * min(values):
        low, high = min(values) / 1.5, max(values) * 1.5
        axes.set_yscale("log")
        axes.set_ylim(low, high)
        places = log_places(low, high, 4)
        fixed_ticks(axes, "y", places, [tick(place) for place in places])
    else:
        axes.set_ylim(0, _top(panel))
        linear_ticks(axes, "y", steps=steps)


def _top(panel: LoadPanel) -> float:
    values = [value for series in panel.series for _, _, value in series.points]
    values += [mean.high for series in panel.series for _, mean in series.means if has_interval(mean)]
    measured = max(values, default=0.0)
    loads = {load for series in panel.series for load, _, _ in series.points}
    curves = [_usl(load, fit) for series in panel.series if (fit := series.fit) is not None for load in loads]
    values += [value for value in curves if value <= 1.5 * measured]
    values += [series.knee.throughput_ceiling.value for series in panel.series if series.knee is not None]
    return top_of(values, 0.12)


def _series(drawing: Drawing, axes: Axes, load: str, metric: Metric, series: LoadSeries) -> None:
    look = series.look
    for place, mean in series.means:
        if has_interval(mean):
            axes.plot(
                [place, place],
                [mean.low, mean.high],
                color=look.colour,
                linewidth=3.5,
                alpha=0.35,
                solid_capstyle="butt",
            )
    axes.plot([place for place, _ in series.means], [mean.value for _, mean in series.means], **look.line(1.4))
    (marks,) = axes.plot([x for x, _, _ in series.points], [y for _, _, y in series.points], **look.mark(6), zorder=3)
    drawing.tip(
        marks,
        [
            f"{look.label}, {load} {tick(x)}, round {number}: {quantity(y, metric.unit)}"
            for x, number, y in series.points
        ],
    )


def _limits(axes: Axes, series: LoadSeries) -> None:
    left, right = axes.get_xlim()
    first = max(left, right * 1e-6)
    grow = axes.get_xscale() == "log"
    steps = [step / _CURVE_POINTS for step in range(_CURVE_POINTS + 1)]
    loads = [first * (right / first) ** step if grow else first + (right - first) * step for step in steps]
    fit = series.fit
    if fit is not None:
        axes.plot(
            loads,
            [_usl(load, fit) for load in loads],
            color=light("muted"),
            linewidth=1.1,
            linestyle=(0, (5, 3)),
            zorder=1.5,
        )
    knee = series.knee
    if knee is None:
        return
    ceiling, bend = knee.throughput_ceiling.value, knee.n_star.value
    corner = sorted([*loads, bend]) if first < bend < right else loads
    axes.plot(
        corner, [min(load / bend, 1.0) * ceiling for load in corner], color=light("axis"), linewidth=0.9, zorder=1
    )
    if has_interval(knee.n_star):
        axes.axvspan(
            knee.n_star.low, min(knee.n_star.high, right), color=light("band"), alpha=0.6, linewidth=0, zorder=0.4
        )
    if bend < right:
        axes.axvline(bend, color=light("ink"), linewidth=0.9, linestyle=(0, (2, 2)), zorder=1)
        at = bend * 1.02 if grow else bend + 0.006 * (right - left)
        said = f"knee at {significant(bend, 2)}"
        note(axes, at, 0.03, said, colour="ink", transform=axes.get_xaxis_transform(), va="bottom")
    cause = f": {knee.bottleneck}" if knee.bottleneck else ""
    note(axes, 0.012, ceiling, f"ceiling{cause}", transform=axes.get_yaxis_transform(), va="bottom")
    axes.plot([first, bend], [ceiling, ceiling], color=light("axis"), linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)


def _usl(load: float, fit: ScalabilityFit) -> float:
    """The Universal Scalability Law (Gunther, "Guerrilla Capacity Planning", 2007, chapter 4) at one load."""
    contention, coherency = fit.alpha.value * (load - 1), fit.beta.value * load * (load - 1)
    return fit.gamma.value * load / (1 + contention + coherency)
