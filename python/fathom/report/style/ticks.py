"""Round places on an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

_SHORT = 4.0
"""A logarithmic axis shorter than this factor gets evenly spaced ticks."""


def linear_places(low: float, high: float, most: int = 4) -> list[float]:
    """Multiples of 1, 2, 2.5 or 5 times a power of ten from `low` to `high`, at most `most` steps of them."""
    return _even(low, high, most, (1, 2, 2.5, 5, 10))


def log_places(low: float, high: float, most: int = 7) -> list[float]:
    """Round places on a logarithmic axis: 1-2-5 in each decade, decades only where that would be too many, and evenly
    spaced ones where the axis is shorter than a factor of four.
    """
    if high / low < _SHORT:
        return _even(low, high, most, (1, 2, 5, 10))
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    inside: list[float] = []
    for mantissas in ((1, 2, 5), (1, 3), (1,)):
        places = [m * 10.0**e for e in range(first, last + 1) for m in mantissas]
        inside = [place for place in places if low <= place * (1 + 1e-9) and place <= high * (1 + 1e-9)]
        if len(inside) <= most:
            break
    return inside[:: math.ceil(len(inside) / most)] if inside else []


def top_of(values: Sequence[float], room: float = 0.08) -> float:
    """The upper end of an axis that starts at 0 and has some room above the highest value."""
    highest = max((value for value in values if math.isfinite(value)), default=0.0)
    return highest * (1 + room) if highest > 0 else 1.0


def _even(low: float, high: float, most: int, mantissas: Sequence[float]) -> list[float]:
    """Multiples of the finest round step of which `most` cover the axis."""
    rough = (high - low) / most
    decade = 10.0 ** math.floor(math.log10(rough))
    step = next(m * decade for m in mantissas if m * decade >= rough * (1 - 1e-9))
    digits = max(0, 1 - math.floor(math.log10(step)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(index * step, digits) + 0.0 for index in range(first, last + 1)]
