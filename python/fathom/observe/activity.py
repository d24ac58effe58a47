"""From looks to what is kept: the columns of `activity.parquet`, and one number per run and measure.

Counters become rates per second between looks; over the measured phase they are read off at its two ends, between looks
in proportion to time. A gauge's number is its mean.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

from fathom.observe.sample import Key, Look
from fathom.record import ACTIVITY

_S = 1_000_000_000


def columns(looks: Sequence[Look], waits: Sequence[Look], window: tuple[int, int]) -> dict[str, list[Any]]:
    """Rows of `activity.parquet`, ordered by time.

    Args:
        looks: at counters and gauges, in order of time.
        waits: at what sessions wait for; averaged between two looks.
        window: begin and end of the measured phase on the monotonic clock, ns.

    Returns:
        The columns of `record.ACTIVITY`. `value` is a rate per second for counters, the mean number of sessions for
        waits, the value at the end for other gauges.
    """
    rows: list[tuple[Any, ...]] = []
    begin, end = window
    moments = [look.at_ns for look in waits]
    for before, after in itertools.pairwise(looks):
        seconds = (after.at_ns - before.at_ns) / _S
        if seconds <= 0:
            continue
        middle = (before.at_ns + after.at_ns) // 2
        phase = "measure" if begin <= middle <= end else "ramp" if middle < begin else "after"
        start = (before.at_ns - begin) / _S
        grown = {
            key: (value - before.counters[key]) / seconds
            for key, value in after.counters.items()
            if key in before.counters
        }
        waited = _means(waits[bisect_left(moments, before.at_ns) : bisect_right(moments, after.at_ns)])
        for is_gauge, values in ((False, grown), (True, after.gauges | waited)):
            rows += [
                (start, seconds, phase, key.kind, key.name, key.instance, key.measure, key.unit, is_gauge, value)
                for key, value in values.items()
            ]
    return {name: [row[index] for row in rows] for index, name in enumerate(ACTIVITY)}


def totals(looks: Sequence[Look], window: tuple[int, int]) -> dict[Key, float]:
    """How much every counter grew in the measured phase."""
    if len(looks) < 2:
        return {}
    keys = [key for key in looks[-1].counters if key in looks[0].counters]
    return {key: _at(looks, key, window[1]) - _at(looks, key, window[0]) for key in keys}


def means(looks: Sequence[Look], window: tuple[int, int]) -> dict[Key, float]:
    """Mean of every gauge over the looks in the measured phase; over all of them if none lies in it.

    A gauge that a look does not have (a wait nobody was in) counts as 0 there.
    """
    inside = [look for look in looks if window[0] <= look.at_ns <= window[1]]
    return _means(inside or looks)


def peaks(looks: Sequence[Look]) -> dict[Key, float]:
    """Largest value of every gauge."""
    found: dict[Key, float] = {}
    for look in looks:
        for key, value in look.gauges.items():
            found[key] = max(value, found.get(key, value))
    return found


def _means(looks: Sequence[Look]) -> dict[Key, float]:
    sums: dict[Key, float] = {}
    for look in looks:
        for key, value in look.gauges.items():
            sums[key] = sums.get(key, 0.0) + value
    return {key: value / len(looks) for key, value in sums.items()}


def _at(looks: Sequence[Look], key: Key, moment: int) -> float:
    """A counter at a moment: between two looks in proportion, outside of all of them as at the nearest."""
    known = [(look.at_ns, look.counters[key]) for look in looks if key in look.counters]
    index = bisect_left(known, (moment, float("-inf")))
    if index == 0:
        return known[0][1]
    if index == len(known):
        return known[-1][1]
    (t0, low), (t1, high) = known[index - 1], known[index]
    return low + (high - low) * (moment - t0) / (t1 - t0) if t1 > t0 else high
