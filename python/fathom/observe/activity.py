"""From observations to what is kept: the columns of `activity.parquet`, and one number per run and measure.

Counters become rates per second between observations; over the measured phase they are read off at its two ends, in
proportion to time between observations. A gauge's number is its mean.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

from fathom.observe.sample import Key, Observation
from fathom.record import ACTIVITY

_S = 1_000_000_000


def columns(
    observations: Sequence[Observation], waits: Sequence[Observation], window: tuple[int, int]
) -> dict[str, list[Any]]:
    """Rows of `activity.parquet`, ordered by time.

    Args:
        observations: of counters and gauges, in order of time.
        waits: of what sessions wait for; averaged between two observations.
        window: begin and end of the measured phase on the monotonic clock, ns.

    Returns:
        The columns of `record.ACTIVITY`. `value` is a rate per second for counters, the mean number of sessions for
        waits, the value at the end for other gauges.
    """
    rows: list[tuple[Any, ...]] = []
    begin, end = window
    moments = [each.at_ns for each in waits]
    for before, after in itertools.pairwise(observations):
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


def totals(observations: Sequence[Observation], window: tuple[int, int]) -> dict[Key, float]:
    """How much every counter grew in the measured phase."""
    if len(observations) < 2:
        return {}
    keys = [key for key in observations[-1].counters if key in observations[0].counters]
    return {key: _at(observations, key, window[1]) - _at(observations, key, window[0]) for key in keys}


def means(observations: Sequence[Observation], window: tuple[int, int]) -> dict[Key, float]:
    """Mean of every gauge over the observations in the measured phase; over all of them if none is in it.

    A gauge that an observation does not have (a wait without a session in it) counts as 0 there.
    """
    inside = [each for each in observations if window[0] <= each.at_ns <= window[1]]
    return _means(inside or observations)


def peaks(observations: Sequence[Observation]) -> dict[Key, float]:
    """Largest value of every gauge."""
    found: dict[Key, float] = {}
    for each in observations:
        for key, value in each.gauges.items():
            found[key] = max(value, found.get(key, value))
    return found


def _means(observations: Sequence[Observation]) -> dict[Key, float]:
    sums: dict[Key, float] = {}
    for each in observations:
        for key, value in each.gauges.items():
            sums[key] = sums.get(key, 0.0) + value
    return {key: value / len(observations) for key, value in sums.items()}


def _at(observations: Sequence[Observation], key: Key, moment: int) -> float:
    """A counter at a moment: between two observations in proportion, outside of all of them as at the nearest."""
    known = [(each.at_ns, each.counters[key]) for each in observations if key in each.counters]
    index = bisect_left(known, (moment, float("-inf")))
    if index == 0:
        return known[0][1]
    if index == len(known):
        return known[-1][1]
    (t0, low), (t1, high) = known[index - 1], known[index]
    return low + (high - low) * (moment - t0) / (t1 - t0) if t1 > t0 else high
