"""The interval of iostat's reports by their figures alone, for logs without times.

A rate is a whole number of requests over the interval, and iostat's intervals are whole seconds: rates in steps of 0.2
were counted over 5 s. A table without -x has amounts beside rates as well: one over the other is the interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

Disks = Mapping[str, Mapping[str, float]]
"""Device to column to number."""

COUNTS = ("r/s", "w/s", "tps")
ALL_COUNTS = (*COUNTS, "d/s", "f/s", "rrqm/s", "wrqm/s", "drqm/s")
"""Merges are whole numbers, too."""
_AMOUNTS = tuple((f"{unit}_{way}", f"{unit}_{way}/s") for unit in ("kB", "MB", "Blk") for way in ("read", "wrtn"))
STEPS_S = (1, 2, 3, 4, 5, 6, 10, 15, 20, 30)
"""Intervals that are given to iostat; of longer ones two decimals of a rate seldom give the count."""
_LONGEST_S = 60
"""Above, most numbers with two decimals are a whole number of requests."""
_MOST = 0.75
"""Rates that must be whole counts: some intervals are longer by some milliseconds."""
_SURE = math.log(1e8)
"""How much less likely chance must be."""
_NEAR = 0.02
_ENOUGH = 50.0
"""Amounts are rounded to one: from here on the ratio tells the interval."""


_BY_AMOUNTS = "which is the amounts over their rates"


class Interval(NamedTuple):
    """Seconds, and what tells them."""

    seconds: int
    why: str


def interval_of(reports: Sequence[Disks]) -> Interval | None:
    """The usual interval of reports; None where the figures do not show it."""
    found = _by_amounts(reports)
    if found is not None:
        return Interval(found, _BY_AMOUNTS)
    found = usual_interval(reports)
    return None if found is None else Interval(found, "which the rates are whole counts of")


def excludes(reports: Sequence[Disks], found: Interval, seconds: int) -> bool:
    """Whether the interval that figures tell leaves no chance to another one."""
    if found.why == _BY_AMOUNTS or seconds % found.seconds:
        return found.seconds != seconds
    # Counts over the longer one would be whole over the shorter one by chance only.
    return len(set(rates(reports, ALL_COUNTS))) * math.log(seconds / found.seconds) >= _SURE


def rates(reports: Iterable[Disks], names: Sequence[str] = COUNTS) -> list[float]:
    """All rates of requests that are not zero."""
    disks = [columns for report in reports for columns in report.values()]
    return [columns[name] for columns in disks for name in names if columns.get(name)]


def is_count(rate: float, seconds: float) -> bool:
    """Whether a rate with two decimals is a whole number of requests in about so many seconds."""
    count = rate * seconds
    return abs(count - round(count)) <= 0.005 * seconds + 0.001 * count


def shortest(report: Disks) -> float:
    """Seconds that a report covers at least: its lowest rate is one request or more."""
    return max((1 / (rate + 0.005) for rate in rates([report], ALL_COUNTS)), default=0.0)


def usual_interval(reports: Sequence[Disks]) -> int | None:
    """The interval that makes rates whole numbers, s; None where no rate is low and the others leave a doubt."""
    found = rates(reports)
    for step in STEPS_S:
        low = [rate for rate in found if rate * step <= 50]
        # The longer the interval, the likelier is a rate a count by chance.
        if len(low) >= 3 + step // 2 and sum(is_count(rate, step) for rate in low) >= 0.95 * len(low):
            return step
    return _of_many(reports)


def amounts_over(report: Disks) -> list[float]:
    """Amount over rate of every device and direction where both are large enough."""
    pairs = [
        (columns[amount], columns[rate])
        for columns in report.values()
        for amount, rate in _AMOUNTS
        if amount in columns and rate in columns
    ]
    return [amount / rate for amount, rate in pairs if amount >= _ENOUGH and rate >= 1.0]


def _by_amounts(reports: Sequence[Disks]) -> int | None:
    found = [ratio for report in reports for ratio in amounts_over(report)]
    if not found:
        return None
    usual = round(float(np.median(found)))
    near = sum(abs(ratio - usual) <= _NEAR * usual for ratio in found)
    return usual if usual >= 1 and near >= 0.9 * len(found) else None


def _of_many(reports: Sequence[Disks]) -> int | None:
    """The interval for which rates of many requests are whole numbers, to the decimals printed, least by chance."""
    found = np.array(sorted(set(rates(reports, ALL_COUNTS))))
    decimals = _decimals(reports)
    if not len(found):
        return None
    sure = []
    for step in range(1, min(_LONGEST_S, 10**decimals - 1) + 1):
        # As printed: within half a digit, rates over 60 s look like rates over 40 s.
        share = float(np.mean(np.abs(np.round(np.round(found * step) / step, decimals) - found) < 1e-6))
        sure.append((len(found) * _distance(share, step / 10**decimals), -step, share))
    best, step, share = max(sure, default=(0.0, 0, 0.0))
    return -step if best >= _SURE and share >= _MOST else None


def _decimals(reports: Sequence[Disks]) -> int:
    """How many are printed: `--dec` leaves one or none of two."""
    numbers = np.array([value for report in reports for columns in report.values() for value in columns.values()])
    return next((each for each in (0, 1) if np.allclose(numbers, np.round(numbers, each), rtol=0.0, atol=1e-6)), 2)


def _distance(share: float, chance: float) -> float:
    """Kullback-Leibler: by how much each rate speaks against chance, which gives fewer whole counts."""
    if share <= chance:
        return 0.0
    whole = share * math.log(share / chance)
    return whole if share >= 1 else whole + (1 - share) * math.log((1 - share) / (1 - chance))
