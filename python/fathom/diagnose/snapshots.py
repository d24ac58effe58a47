"""Times of snapshots whose stamps have lost their seconds, as Excel saves them again: several share a minute.

What grew from one snapshot to the next is divided by the time between them, so that this must not be guessed: snapshots
that follow each other evenly are placed on the line that all stamps allow; of others the first of each minute counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import NamedTuple

import numpy as np

from fathom.diagnose.clock import NS
from fathom.diagnose.moments import Moments
from fathom.diagnose.source import Source

_MINUTE = 60.0
_FEWEST = 3
"""Minutes, of which one is whole, below which nothing tells how far snapshots are apart."""


class Stamped(NamedTuple):
    """A row of a snapshot: its line, its stamp, and what no other row of the same snapshot has."""

    line: int
    stamp: str
    key: Hashable


class Snapshots:
    """Gives the rows of a log of snapshots their times.

    Args:
        source: the log; it is read once more where its stamps have no seconds.
        stamped: reads its rows.
    """

    def __init__(self, source: Source, stamped: Callable[[Source], Iterator[Stamped]]) -> None:
        self._source, self._stamped = source, stamped
        self._moments, self._looks = Moments(source), _Looks()
        self._times: list[int | None] | None = None

    def time(self, row: Stamped) -> int | None:
        """Nanoseconds since 1970 of a row's snapshot, in the log's order; None where it has no time of its own."""
        time = self._moments.time(row.line, row.stamp)
        if self._times is None:
            self._times = [] if self._moments.has_seconds else self._placed()
        if not self._times:
            return time
        self._looks.add(time, row.key)
        found = self._times[len(self._looks.minutes) - 1]
        if found is None:
            self._source.notes.skip(
                "rows", "of further snapshots of a minute, which are no even time apart", 1, row.stamp
            )
        return found

    def _placed(self) -> list[int | None]:
        """The time of each snapshot; empty where no minute has more than one."""
        again = Source(self._source.path, self._source.zone, start_ns=self._source.start_ns)
        moments, looks = Moments(again), _Looks()
        for row in self._stamped(again):
            looks.add(moments.time(row.line, row.stamp), row.key)
        minutes = np.array(looks.minutes)
        if not (np.diff(minutes) == 0).any():
            return []
        usual = int(np.percentile(np.unique(minutes, return_counts=True)[1], 75))
        found: list[int | None] = []
        for part in np.split(minutes, np.flatnonzero(np.abs(np.diff(minutes)) > 1.5 * _MINUTE * NS) + 1):
            found += _evenly(part)
        how = "the first of each minute is taken" if None in found else "taken as evenly spread"
        self._source.notes.fact("clock", f"the stamps have no seconds: {usual} snapshots a minute, {how}")
        return found


class _Looks:
    """Tells snapshots apart: one ends where its minute does, or where a row comes again.

    Attributes:
        minutes: of each, ns since 1970.
    """

    def __init__(self) -> None:
        self.minutes: list[int] = []
        self._keys: set[Hashable] = set()

    def add(self, minute: int, key: Hashable) -> None:
        if not self.minutes or minute != self.minutes[-1] or key in self._keys:
            self.minutes.append(minute)
            self._keys.clear()
        self._keys.add(key)


def _evenly(minutes: np.ndarray) -> list[int | None]:
    """Times of snapshots that follow each other without a gap: on a line, each within its minute. Else of the first of
    each minute alone.
    """
    begins = np.flatnonzero(np.diff(minutes, prepend=minutes[0] - 1))
    step = _step(minutes, begins)
    if step is None:
        heads = set(begins.tolist())
        return [time if place in heads else None for place, time in enumerate(minutes.tolist())]
    place = np.arange(len(minutes))
    within = (minutes - minutes[0]) / NS - step * place
    start = (float(within.max()) + float(within.min()) + _MINUTE) / 2
    return [int(time) for time in minutes[0] + np.rint((start + step * place) * NS).astype(np.int64)]


def _step(minutes: np.ndarray, begins: np.ndarray) -> float | None:
    """Seconds from snapshot to snapshot that put each into its minute; None where nothing does, or too much.

    A whole number of them in a minute is preferred where it is possible: loops wait for 5, 10, 15 or 30 s.
    """
    if len(begins) < _FEWEST:
        return None
    ends = np.append(begins[1:], len(minutes)) - 1
    at = (minutes[begins] - minutes[0]) / NS
    least, most = 0.0, np.inf
    for one in range(len(begins)):
        # From the last of a minute to the first of a later one, and from the first of a minute to the last of a later.
        least = max(
            least, float(((at[one + 1 :] - at[one] - _MINUTE) / (begins[one + 1 :] - ends[one])).max(initial=0.0))
        )
        wide = ends[one:] - begins[one]
        most = min(most, float(((at[one:] - at[one] + _MINUTE)[wide > 0] / wide[wide > 0]).min(initial=np.inf)))
    if least >= most:
        return None
    usual = _MINUTE / float(np.median(np.diff(begins)))
    return usual if least <= usual <= most else (least + most) / 2
