"""The clock of a log: UTC to the local time its stamps were in, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fathom.diagnose.clock import NS, Zone, ns_of

if TYPE_CHECKING:
    from fathom.diagnose.facts import LogNotes

_MINUTES = re.compile(r"([+-]\d+) min from UTC")
_HOURS = re.compile(r"([+-][\d.]+) h from UTC")
_GIVEN = re.compile(r"(\S+) \(as given\)")
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)


class LogClock:
    """The local time of a log, which is that of the first of its parts that names a zone; otherwise UTC.

    Attributes:
        name: of the zone, for people: "UTC", "UTC-05:00", "Europe/Berlin".
    """

    def __init__(self, notes: Iterable[LogNotes]) -> None:
        facts = [fact.value for each in notes for fact in each.facts if fact.name == "time_zone"]
        self._zone_name = next((name for name in map(_zone, facts) if name is not None), "UTC")
        self._zone = Zone(self._zone_name)
        self.name = f"UTC{self._zone_name}" if self._zone_name[0] in "+-" else self._zone_name

    def local(self, time_ns: int) -> datetime:
        """Local time without a zone."""
        if self._zone_name[0] in "+-" or self._zone_name == "UTC":
            offset = -int(self._zone.utc(np.zeros(1, dtype=np.int64))[0])
            moment = pl.Series([time_ns + offset]).cast(pl.Datetime("ns"))
        else:
            utc = pl.Series([time_ns]).cast(pl.Datetime("ns")).dt.replace_time_zone("UTC")
            moment = utc.dt.convert_time_zone(self._zone_name).dt.replace_time_zone(None)
        found: datetime = moment.cast(pl.Datetime("us"))[0]
        return found

    def ns(self, moment: datetime) -> int:
        """Nanoseconds since 1970, UTC, of a local time; of a time with a zone as it says."""
        if moment.tzinfo is not None:
            return ns_of(moment)
        return int(self._zone.utc(np.array([ns_of(moment)], dtype=np.int64))[0])

    def span(self, start_ns: int, end_ns: int) -> str:
        """`2026-03-02 02:00 to 02:10`; seconds only where they are not 0, the second date only where it differs."""
        start, end = self.local(start_ns), self.local(end_ns)
        full = "%H:%M:%S" if round(start_ns / NS) % 60 or round(end_ns / NS) % 60 else "%H:%M"
        last = full if start.date() == end.date() else f"%Y-%m-%d {full}"
        return f"{start:%Y-%m-%d {full}} to {end.strftime(last)}"

    def ticks(self, start_ns: int, end_ns: int, most: int) -> list[tuple[float, str]]:
        """Round local times between two moments, as seconds from the first and what they are called."""
        length = (end_ns - start_ns) / NS
        step = next(
            (each for each in _STEPS if length / each <= most), 86400 * max(1, -(-int(length) // 86400 // most))
        )
        first = self.local(start_ns)
        into_day = first.hour * 3600 + first.minute * 60 + first.second + first.microsecond / 1e6
        places = np.arange(-(-into_day // step) * step - into_day, length + 1e-9, step)
        form = "%m-%d" if step >= 86400 else "%H:%M:%S" if step < 60 else "%H:%M"
        return [(float(each), self.local(start_ns + round(each * NS)).strftime(form)) for each in places]


def _zone(fact: str) -> str | None:
    """The zone in the words of a fact, as `Zone` takes it."""
    given = _GIVEN.match(fact)
    if given:
        return given[1]
    for pattern, factor in ((_MINUTES, 1.0), (_HOURS, 60.0)):
        found = pattern.search(fact)
        if found:
            minutes = round(float(found[1]) * factor)
            return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}" if minutes else "UTC"
    return None
