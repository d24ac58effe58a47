"""The value axis of lines over time."""

from __future__ import annotations

from collections.abc import Iterable

from fathom.report.format import tick
from fathom.report.style.panel import Panel
from fathom.report.style.ticks import log_places, top_of

_FAR_APART = 100.0


def value_axis(axes: Panel, values: Iterable[float], unit: str) -> None:
    """Scales the axis from 0, or logarithmically where latencies span more than 100 x."""
    values = list(values)
    positive = [value for value in values if value > 0]
    if unit == "ms" and positive and max(positive) > _FAR_APART * min(positive):
        low, high = min(positive) / 1.3, max(positive) * 1.3
        axes.limits("y", low, high, log=True)
        places = log_places(low, high, 4)
        axes.ticks("y", places, [tick(place) for place in places])
    else:
        axes.limits("y", 0, top_of(values))
        axes.linear_ticks("y", 3)
