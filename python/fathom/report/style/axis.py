"""Axes of values: logarithmic ones, and the value axis of lines over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fathom.report.format import tick
from fathom.report.style.panel import Panel, Which
from fathom.report.style.ticks import log_places, top_of

_FAR_APART = 100.0


def log_axis(axes: Panel, side: Which, values: Sequence[float], margin: float, most: int) -> None:
    """Scales an axis logarithmically over positive values, a factor `margin` beyond both ends, `most` ticks."""
    low, high = min(values) / margin, max(values) * margin
    axes.limits(side, low, high, log=True)
    places = log_places(low, high, most)
    axes.ticks(side, places, [tick(place) for place in places])


def value_axis(axes: Panel, values: Iterable[float], unit: str) -> None:
    """Scales the axis from 0, or logarithmically where latencies span more than 100 x."""
    values = list(values)
    positive = [value for value in values if value > 0]
    if unit == "ms" and positive and max(positive) > _FAR_APART * min(positive):
        log_axis(axes, "y", positive, 1.3, 4)
    else:
        axes.limits("y", 0, top_of(values))
        axes.linear_ticks("y", 3)
