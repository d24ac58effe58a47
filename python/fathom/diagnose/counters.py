"""Counters that only rise, as rates and means: what `/proc/diskstats`, DMVs, pg views and Prometheus export.

A counter that falls was reset (a restart, a new device of the same name): the interval's values are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from fathom.diagnose.clock import NS
from fathom.diagnose.metrics import Layer
from fathom.diagnose.table import Rows, Series


@dataclass(frozen=True)
class Counted:
    """What counters of one kind of thing become.

    Attributes:
        rates: metric to counter and what one of the counter's units is in the metric's: growth per second.
        means: metric to (counter of amounts, counter of events, unit): growth of one per growth of the other.
        events: metric to counter: growth.
    """

    rates: Mapping[str, tuple[str, float]]
    means: Mapping[str, tuple[str, str, float]] = field(default_factory=dict)
    events: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def counters(self) -> frozenset[str]:
        """Every counter's name."""
        return frozenset(
            {counter for counter, _ in self.rates.values()}
            | {counter for amount, events, _ in self.means.values() for counter in (amount, events)}
            | set(self.events.values())
        )


class Differences:
    """Keeps the last look at each thing and adds what grew since to rows.

    Args:
        counted: what becomes of the counters.
        width: bits after which counters begin again at zero; None for 64 and more.
    """

    def __init__(self, counted: Counted, width: int | None = None) -> None:
        self._counted = counted
        self._wrap = None if width is None else float(1 << width)
        self._last: dict[tuple[str | None, str | None, Layer], tuple[int, Mapping[str, float | None]]] = {}
        self._series: dict[tuple[str | None, str | None, Layer], dict[str, Series]] = {}
        """Of each thing, by metric: a log has thousands of looks at one."""

    def add(
        self,
        rows: Rows,
        time: int,
        place: tuple[str | None, str | None, Layer],
        now: Mapping[str, float | None],
    ) -> None:
        """A look at one thing; the first one only begins.

        Args:
            rows: where the values go.
            time: of the look, ns since 1970.
            place: host, device and layer.
            now: counters; None for one that is not there.
        """
        before = self._last.get(place)
        if before is not None and time == before[0]:
            # What grew since counts from this moment on: the next look would have too little of it for its time.
            return
        self._last[place] = (time, now)
        if before is None or time < before[0]:
            return
        seconds = (time - before[0]) / NS
        series = self._series.get(place) or self._named(place)
        then = before[1]
        grown = {name: self._growth(then.get(name), value) for name, value in now.items()}
        for metric, (counter, unit) in self._counted.rates.items():
            if now.get(counter) is not None:
                growth = grown[counter]
                value = None if growth is None else growth * unit / seconds
                rows.add(time, seconds, series[metric], value)
        for metric, (amount, events, unit) in self._counted.means.items():
            if now.get(amount) is not None and now.get(events) is not None:
                total, count = grown[amount], grown[events]
                mean = total * unit / count if total is not None and count else None
                rows.add(time, seconds, series[metric], mean)
        for metric, counter in self._counted.events.items():
            if now.get(counter) is not None:
                rows.add(time, seconds, series[metric], grown[counter])

    def _named(self, place: tuple[str | None, str | None, Layer]) -> dict[str, Series]:
        metrics = (*self._counted.rates, *self._counted.means, *self._counted.events)
        self._series[place] = {metric: Series(*place, metric) for metric in metrics}
        return self._series[place]

    def _growth(self, before: float | None, now: float | None) -> float | None:
        if before is None or now is None:
            return None
        growth = now - before
        if growth >= 0:
            return growth
        if self._wrap is not None and before < self._wrap and growth + self._wrap < self._wrap / 2:
            return growth + self._wrap
        return None
