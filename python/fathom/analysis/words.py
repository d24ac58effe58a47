"""Numbers and effects in plain words, for headlines, reasons and advice."""

from __future__ import annotations

import math

from fathom.analysis.model import Estimate

_LARGE = 1.5
"""From this ratio on people say "1.5x", below it "50 %"."""


def number(value: float) -> str:
    """Three significant digits, all digits of a whole part, thousands separators."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def quantity(value: float, unit: str) -> str:
    """A number and its unit."""
    return f"{number(value)} {unit}".rstrip()


def rounds(count: int) -> str:
    """`1 round`, `5 rounds`."""
    return f"{count:,} round{'' if count == 1 else 's'}"


def percent(fraction: float) -> str:
    """A fraction as per cent: whole from 10 % on, one decimal below where it says something, two digits below 0.1 %."""
    value = fraction * 100
    if value == 0 or abs(value) >= 10:
        return f"{value:.0f} %"
    return f"{value:.1f} %".replace(".0 %", " %") if abs(value) >= 0.1 else f"{value:.2g} %"


def effect(ratio: float) -> str:
    """The size of an improvement or loss without its direction: `61x`, `3.1 %`."""
    size = max(ratio, 1 / ratio)
    return f"{_times(size)}x" if size >= _LARGE else percent(size - 1)


def effect_interval(estimate: Estimate) -> str:
    """The interval of a ratio in the terms of `effect`, in the direction of its point: `58 to 64`, `2.1 % to 4 %`."""
    low, high = (estimate.low, estimate.high) if estimate.value >= 1 else (1 / estimate.high, 1 / estimate.low)
    if max(estimate.value, 1 / estimate.value) < _LARGE:
        return f"{percent(low - 1)} to {percent(high - 1)}"
    # Digits are added until the bounds differ: "61 to 61" would say less than is known.
    more = next((extra for extra in range(3) if _times(low, extra) != _times(high, extra)), 0)
    return f"{_times(low, more)} to {_times(high, more)}"


def level(value: float) -> str:
    """`95 %`, or `98.4 %` where looks or several variants were paid for."""
    return f"{100 * value:.3g} %"


def evidence(estimate: Estimate) -> str:
    """What stands behind a ratio, in brackets after a claim."""
    if not estimate.has_interval:
        return "one round, no interval"
    if estimate.low == estimate.high:
        return f"{estimate.method}, {rounds(estimate.n)}"
    return f"{level(estimate.level)} interval {effect_interval(estimate)}, {rounds(estimate.n)}"


def _times(size: float, extra_digits: int = 0) -> str:
    digits = 0 if size >= 20 else 1 if size >= 3 else 2
    return f"{size:,.{digits + extra_digits}f}"
