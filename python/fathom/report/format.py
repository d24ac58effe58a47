"""How numbers are written for people: the only file of the report that decides on digits and units.

Times are ms with three significant digits, rates carry thousands separators, MB/s is decimal. A value that was not
measured is written as a dash, never as zero. Numbers and their units are joined by a no-break space.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING

from fathom.analysis.words import boundless, tells_nothing

if TYPE_CHECKING:
    from fathom.analysis.model import Estimate

MISSING = "–"
"""What stands for a value that was not measured."""

SPACE = "\u00a0"
_MINUS = "\u2212"
_COUNTED = frozenset({"IOPS", "rows/s", "rows", "1/s"})


def has_interval(estimate: Estimate | None) -> bool:
    """Whether there is an interval to write or draw: one observation has none, an unbounded one cannot be drawn."""
    return (
        estimate is not None and estimate.has_interval and math.isfinite(estimate.low) and math.isfinite(estimate.high)
    )


def _typeset(text: str) -> str:
    return text.replace("-", _MINUS)


def significant(value: float | None, digits: int = 3) -> str:
    """A number with that many significant digits, thousands separators, and no digit of an integer part dropped."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    rounded = round(value, digits - 1 - magnitude)
    magnitude = math.floor(math.log10(abs(rounded)))
    if magnitude < -6:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return _typeset(f"{mantissa} × 10^{int(exponent)}")
    decimals = max(0, digits - 1 - magnitude)
    return _typeset(f"{(rounded if decimals else value):,.{decimals}f}")


def count(value: float | None) -> str:
    """A whole number with thousands separators; below 100, where a rate may have a fraction, three digits."""
    if value is None or not math.isfinite(value):
        return MISSING
    if abs(value) >= 100 or float(value).is_integer():
        return _typeset(f"{value:,.0f}")
    return significant(value)


def number(value: float | None, unit: str) -> str:
    """The digits alone, as the unit asks for; for table columns whose head names the unit."""
    return count(value) if unit in _COUNTED else significant(value)


def quantity(value: float | None, unit: str) -> str:
    """Digits and unit."""
    text = number(value, unit)
    return text if text == MISSING or not unit else f"{text}{SPACE}{unit}"


def interval(estimate: Estimate | None, unit: str) -> str:
    """`low to high`, digits alone."""
    if estimate is None or not has_interval(estimate):
        return MISSING
    return f"{number(estimate.low, unit)} to {number(estimate.high, unit)}"


def _factor(value: float, *others: float) -> str:
    """A ratio's digits: three decimals where it and its interval lie within 10 % of 1, else as its size asks.

    A small ratio keeps two digits other than leading zeros: 0.0005 is not 0.
    """
    if 0 < value < 0.0995:
        return significant(value, 2)
    if all(abs(one - 1) < 0.1 for one in (value, *others) if math.isfinite(one)):
        decimals = 3
    else:
        decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{decimals}f}"


def ratio(value: float | None) -> str:
    """A ratio as a factor, `1.92 ×`."""
    return MISSING if value is None or not math.isfinite(value) else f"{_factor(value)}{SPACE}×"


def ratio_value(estimate: Estimate | None) -> str:
    """The point of a ratio, with the decimals its interval needs."""
    if estimate is None or not math.isfinite(estimate.value):
        return MISSING
    return f"{_factor(estimate.value, estimate.low, estimate.high)}{SPACE}×"


def ratio_interval(estimate: Estimate | None) -> str:
    """`1.88 to 1.97`, with the decimals of `ratio_value`; in words where a few rounds that differ tell nothing."""
    if estimate is None or not has_interval(estimate):
        return MISSING
    if (nothing := tells_nothing(estimate)) is not None:
        return nothing
    value, low, high = estimate.value, estimate.low, estimate.high
    least = boundless(low, value) or _factor(low, value, high)
    return f"{least} to {boundless(high, value) or _factor(high, value, low)}"


def percent(fraction: float | None, *, signed: bool = False) -> str:
    """A fraction as per cent: one decimal below 10 %, none above; `signed` writes the plus as well."""
    if fraction is None or not math.isfinite(fraction):
        return MISSING
    value = fraction * 100
    decimals = 1 if abs(value) < 9.95 and round(value, 1) != round(value) else 0
    if round(value, decimals) == 0:
        return f"0{SPACE}%"
    return _typeset(f"{value:{'+' if signed else ''},.{decimals}f}{SPACE}%")


def level(value: float) -> str:
    """The level of an interval, `95 %` or, when looks were paid for, `98.2 %`."""
    return f"{value * 100:.3g}{SPACE}%"


def p_value(value: float | None) -> str:
    """A p value: three significant digits, and no more zeros than mean something."""
    if value is None or not math.isfinite(value):
        return MISSING
    return "< 0.0001" if value < 0.0001 else significant(value)


def duration(seconds: float | None) -> str:
    """A length of time in the units people speak in: `320 ms`, `4.2 s`, `11 min 20 s`, `2 h 5 min`."""
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    if seconds < 1:
        return f"{significant(seconds * 1e3)}{SPACE}ms"
    if seconds < 60:
        return f"{significant(seconds)}{SPACE}s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}{SPACE}min" + (f" {whole % 60}{SPACE}s" if whole % 60 else "")
    return f"{whole // 3600:,}{SPACE}h" + (f" {whole % 3600 // 60}{SPACE}min" if whole % 3600 >= 60 else "")


def size(length: float | None) -> str:
    """A length in bytes in binary units, four digits at most: `4 KiB`, `1.5 TiB`."""
    if length is None or not math.isfinite(length):
        return MISSING
    scaled, unit = float(length), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(scaled) < 1024 or unit == "TiB":
            break
        scaled /= 1024
    text = significant(scaled, 4)
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}{SPACE}{unit}"


def moment(text: str) -> str:
    """A moment written by a machine (`2026-11-21T10:00:00+00:00`) as people write it; anything else as it is."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text
    zone = found.strftime("%z") or ""
    return f"{found:%Y-%m-%d %H:%M} " + (
        "UTC" if zone == "+0000" else f"UTC{zone[:3]}:{zone[3:]}" if zone else "(no zone)"
    )


def plural(amount: int, word: str) -> str:
    """`1 round`, `5 rounds`."""
    return f"{amount:,}{SPACE}{word}{'' if amount == 1 else 's'}"


def tick(value: float) -> str:
    """A label of an axis: no digit more than the number has."""
    return _typeset(f"{value:,.9g}") if abs(value) < 1e9 else _typeset(f"{value:.3g}")


def short_tick(value: float) -> str:
    """A label of an axis with little room: thousands as `10 k`, millions as `1.5 M`."""
    for size, letter in ((1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return _typeset(f"{value / (1e6 if letter == 'M' else 1e3):,.4g}{SPACE}{letter}")
    return tick(value)
