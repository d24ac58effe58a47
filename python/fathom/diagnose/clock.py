"""Local stamps of logs to UTC. A log that names no zone is read as UTC, or as the user says; the notes say which."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fathom.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fathom.diagnose.source import Source

NS = 1_000_000_000


class Zone:
    """A time zone: an offset, or a name of the tz database (whose rules polars carries, so Windows has them, too).

    Args:
        text: "UTC", "+02:00", "-0330", "Europe/Berlin".

    Raises:
        UsageError: there is no such zone.
    """

    def __init__(self, text: str) -> None:
        self.name = text
        offset = re.fullmatch(r"([+-])(\d\d):?(\d\d)", text)
        self._offset_s: int | None = None
        if offset:
            hours, minutes = int(offset[2]), int(offset[3])
            if hours > 15 or minutes > 59:
                raise UsageError(f'"{text}" is no offset from UTC', "write it as +02:00")
            self._offset_s = (-1 if offset[1] == "-" else 1) * (hours * 60 + minutes) * 60
        elif text.upper() in {"UTC", "Z", "GMT"}:
            self._offset_s = 0
        else:
            try:
                self.utc(np.zeros(1, dtype=np.int64))
            except pl.exceptions.PolarsError:
                raise UsageError(f'"{text}" is no time zone', "write +02:00 or a name such as Europe/Berlin") from None

    def utc(self, local_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Local wall-clock times in ns since 1970 to UTC.

        Of a repeated hour the first is taken until time goes back, then the second; times within a skipped hour are
        taken as if the clock had not been changed yet.
        """
        if self._offset_s is not None:
            return local_ns - self._offset_s * NS
        naive = pl.Series(local_ns).cast(pl.Datetime("ns"))
        # A time that does not exist is read an hour earlier and moved on again.
        first = naive.dt.replace_time_zone(self.name, ambiguous="earliest", non_existent="null")
        skipped = (naive - pl.duration(hours=1)) if first.null_count() else None
        if skipped is not None:
            before = (
                pl.select(skipped)
                .to_series()
                .dt.replace_time_zone(self.name, ambiguous="earliest", non_existent="null")
            )
            first = first.fill_null(before.dt.offset_by("1h"))
        early = first.dt.timestamp("ns").to_numpy()
        last = naive.dt.replace_time_zone(self.name, ambiguous="latest", non_existent="null").fill_null(first)
        late = last.dt.timestamp("ns").to_numpy()
        return _in_order(local_ns, early, late)


def _in_order(local: NDArray[np.int64], early: NDArray[np.int64], late: NDArray[np.int64]) -> NDArray[np.int64]:
    """The earlier reading of a repeated hour, until the local clock goes back within it."""
    if not (early != late).any():
        return early
    back = np.concatenate(([False], np.diff(local) < 0)) & (early != late)
    second = np.cumsum(back) > 0
    return np.where(second, late, early)


ASSUMED = "UTC, because the log names none"
"""Why a zone was taken that nobody stated."""


@cache
def utc_zone() -> Zone:
    """UTC itself."""
    return Zone("UTC")


def zone_of(source: Source) -> Zone:
    """The zone for stamps without one: the user's, otherwise UTC; the notes say which."""
    if source.zone is not None:
        source.notes.fact("time_zone", f"{source.zone.name} (as given)")
        return source.zone
    source.notes.fact("time_zone", f"{ASSUMED}; --time-zone changes it")
    return utc_zone()


_OFFSET = re.compile(r":\d\d(?:\.\d+)? ?([+-])(\d\d):?(\d\d)?$")


def note_offset(source: Source, stamp: str) -> None:
    """Notes the zone that a log's stamps name, where it is another than UTC: reports print times in it."""
    found = _OFFSET.search(stamp.strip())
    minutes = 0 if found is None else int(found[2]) * 60 + int(found[3] or 0)
    if found is not None and minutes:
        source.notes.fact("time_zone", f"{found[1]}{minutes} min from UTC (its time stamps)")


def ns_of(moment: datetime) -> int:
    """Nanoseconds since 1970 of a moment; one without zone is read as written."""
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    whole = int((moment.replace(microsecond=0) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    return whole * NS + moment.microsecond * 1000


def iso_ns(text: str) -> tuple[int, bool]:
    """Nanoseconds since 1970 of an ISO 8601 stamp, and whether it names its zone; without one it is read as written.

    Raises:
        ValueError: no such stamp.
    """
    moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00").replace("z", "+00:00"))
    return ns_of(moment), moment.tzinfo is not None


_DECIMAL = r"(?m)(?:^|(?<=[\"; \t]))-?\d+{}(?:\d{{1,2}}|\d{{4,}})(?=[\"; \t\r]|$)"
"""A number with a decimal sign: not thousands, and no cells of a table with commas between them."""
_COMMA, _POINT = (re.compile(_DECIMAL.format(sign)) for sign in (",", r"\."))
_HALF_DAY = re.compile(r"\d[:.]\d\d[\d:.]* ?[AP]M\b")


def is_day_first(text: str) -> bool:
    """Whether dates with slashes begin with the day, as far as the log's beginning tells: locales that write decimal
    commas and 24 hours put it first (glibc's LC_NUMERIC and LC_TIME); of those with the month first none writes commas.
    """
    commas = len(_COMMA.findall(text))
    return commas > len(_POINT.findall(text)) and _HALF_DAY.search(text) is None


BY_COMMAS = "with the day first, as where numbers have decimal commas"


def start_of(source: Source) -> int:
    """When a log began whose times count from its start: what the user said, otherwise 1970; the notes say which."""
    if source.start_ns is None:
        source.notes.fact("clock", "times count from the log's start, taken for 1970; --start joins it with other logs")
        return 0
    source.notes.fact("clock", "times count from the log's start (as given)")
    return source.start_ns
