"""Searches for a setting: the highest of a range, or the first of a list, with which a study meets its goals. Pure.

Both take it that goals are met up to some value and missed beyond: for a load that is so, apart from scatter.
The answer is therefore two values that were tried, one that met the goals and one that did not. Near the line scatter
decides, so what a search ends with is tried a second time, and what then comes out otherwise is neither of the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fathom.errors import UsageError
from fathom.results import Level

PRECISION = 0.02
"""A bisection ends when what missed is at most this share above what met: its step, not how well the line is known."""

_FINEST = 1e-4
"""What a bisection of fractions tells apart at least, as a share of the upper end: near zero, shares lead nowhere."""

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"


@dataclass(frozen=True)
class Found:
    """The answer: the value that met the goals, and the nearest tried that did not; None where there is none.

    `lasting` meets them for ever, the first of a list that does: `met` may live on a reserve that ends. `unclear` are
    the values that met the goals at one attempt and missed them at the other. `late` are those of which nothing is
    known, since they missed while the load generator was late: none of them is `missed`.
    """

    met: Level | None
    missed: Level | None
    lasting: Level | None = None
    unclear: tuple[Level, ...] = ()
    late: tuple[Level, ...] = ()

    def without(self, late: Sequence[Level]) -> Found:
        """The answer where nothing is known of some values that did not meet the goals."""
        return replace(self, missed=None if self.missed in late else self.missed, late=tuple(late))


@dataclass(frozen=True)
class Highest:
    """The highest value of `key` from `low` to `high`, found by bisection; whole numbers if both ends are."""

    key: str
    low: float
    high: float

    def search(
        self,
        meets: Callable[[Level], bool],
        lasts: Callable[[Level], bool] = lambda _: True,
        again: Callable[[Level], bool] | None = None,
    ) -> Found:
        """Tries values until two are near each other, then outwards from both what comes out alike a second time.

        Where that leaves a gap above what met the goals, the search goes on below the lowest value that came out
        otherwise. Whether what met the goals lasts is told, not searched for.
        """
        low, high = self.low, self.high
        tried = _Tried(meets, again)
        if not tried.meets(low):
            return Found(None, low)
        if tried.meets(high) and tried.meets_again(high):
            return Found(high, None, high if lasts(high) else None)
        met: float | None = low
        while met is not None and self._gap(met, high):
            low = met
            while self._gap(low, high):
                middle = (low + high) // 2 if self._whole else (low + high) / 2
                low, high = (middle, high) if tried.meets(middle) else (low, middle)
            met = next((v for v in sorted(tried.once, reverse=True) if tried.once[v] and tried.meets_again(v)), None)
            high = min((v for v in tried.once if met is not None and v > met), default=self.high)
        missed = next((v for v in sorted(tried.once) if not tried.once[v] and not tried.meets_again(v)), self.high)
        if met is None:
            return Found(None, self.low, unclear=tuple(sorted(tried.unclear)))
        return Found(met, missed, met if lasts(met) else None, tuple(sorted(tried.unclear)))

    @property
    def _whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def _gap(self, low: float, high: float) -> bool:
        """Whether there is something to try between two values."""
        return high - low > max(1 if self._whole else self.high * _FINEST, low * PRECISION)


@dataclass(frozen=True)
class First:
    """The first value of a list that meets the goals: the list goes from the smallest or cheapest up."""

    key: str
    levels: tuple[Level, ...]

    def search(
        self,
        meets: Callable[[Level], bool],
        lasts: Callable[[Level], bool] = lambda _: True,
        again: Callable[[Level], bool] | None = None,
    ) -> Found:
        """Tries one after the other until one meets the goals, a second time too, and lasts."""
        tried = _Tried(meets, again)
        met: Level | None = None
        missed: Level | None = None
        for level in self.levels:
            if tried.meets(level) and tried.meets_again(level):
                met = level if met is None else met
                if lasts(level):
                    return Found(met, missed, level, tuple(tried.unclear))
            elif met is None:
                missed = level
        return Found(met, missed, unclear=tuple(tried.unclear))


class _Tried:
    """What became of the values that were tried, once and again; without a second attempt each stands."""

    def __init__(self, meets: Callable[[Any], bool], again: Callable[[Any], bool] | None) -> None:
        self._meets, self._again = meets, again
        self.once: dict[Any, bool] = {}
        self._twice: dict[Any, bool] = {}

    def meets(self, level: Level) -> bool:
        self.once[level] = self._meets(level)
        return self.once[level]

    def meets_again(self, level: Level) -> bool:
        if self._again is None:
            return self.once[level]
        if level not in self._twice:
            self._twice[level] = self._again(level)
        return self._twice[level]

    @property
    def unclear(self) -> list[Any]:
        """What came out otherwise the second time."""
        return [level for level, second in self._twice.items() if second != self.once[level]]


def highest(text: str) -> Highest:
    """`KEY=LOW..HIGH`.

    Raises:
        UsageError: it is not that.
    """
    found = re.fullmatch(rf"([^=\s]+)=({_NUMBER})\.\.({_NUMBER})", text)
    if found is None:
        raise UsageError(f'"{text}" is no range of a setting', "write KEY=LOW..HIGH, such as workload.rate=500..20000")
    low, high = _number(found[2]), _number(found[3])
    if low >= high:
        raise UsageError(f'"{text}" is an empty range', "write the lower end first")
    return Highest(found[1], low, high)


def first(text: str) -> First:
    """`KEY=A,B,C`.

    Raises:
        UsageError: it is not that.
    """
    key, equals, rest = text.partition("=")
    levels = [level.strip() for level in rest.split(",")]
    if not key or not equals or not all(levels) or len(set(levels)) < len(levels):
        raise UsageError(
            f'"{text}" is no list of values of a setting', 'write KEY=A,B,C, such as "volumes.data.size=1TiB,2TiB,4TiB"'
        )
    return First(key, tuple(_number(level) if re.fullmatch(_NUMBER, level) else level for level in levels))


def _number(text: str) -> float:
    return float(text) if "." in text else int(text)
