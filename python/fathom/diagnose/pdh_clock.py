"""Stamps of PDH logs: local times with one bias for all of the log, through changes of the clock."""

from __future__ import annotations

import numpy as np
import polars as pl

from fathom.diagnose.clock import NS, start_of, zone_of
from fathom.diagnose.moments import doubt
from fathom.diagnose.source import Source

_HOUR = 3600 * NS
_FORMATS = (
    "%m/%d/%Y %H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%m/%d/%Y %I:%M:%S %p",
    "%d.%m.%Y %H:%M:%S%.f",
    "%d/%m/%Y %H:%M:%S%.f",
    "%m/%d/%Y %H:%M",
    "%d.%m.%Y %H:%M",
    "%d/%m/%Y %H:%M",
    "%Y-%m-%d %H:%M",
)
"""Windows writes the first one in every language; the others come from tools that saved the file again."""
_MINUTE = 60 * NS
_NO_DATE = r"^\d{1,2}:\d\d\.\d$"
"""What Excel makes of a stamp when it saves a CSV again: minutes and seconds."""


class Stamps:
    """Turns the stamps of one log into UTC and lengths of intervals, part by part.

    Args:
        source: for errors and facts.
        zone: text of the zone and minutes to add for UTC, from the header; None where it has none.
    """

    def __init__(self, source: Source, zone: tuple[str, int] | None) -> None:
        self._source = source
        self._bias = None if zone is None else zone[1] * 60 * NS
        self._changes = zone is not None and "utc" not in zone[0].casefold() and zone[0] != "GMT"
        self._format: str | None = None
        self._local: int | None = None
        self._usual: float | None = None
        self._shift = 0
        if zone is not None:
            source.notes.fact("time_zone", f"{zone[0]}, {-zone[1]:+} min from UTC (header)")

    def times(self, texts: pl.Series, line: int) -> tuple[np.ndarray, np.ndarray]:
        """UTC in ns since 1970, and seconds since the sample before (NaN for the first, and where time stood still).

        Raises:
            LogError: a stamp is none.
        """
        local = self._parsed(texts, line)
        if str(self._format).endswith("%M"):
            local = self._spread(local)
        before = np.concatenate(([self._local if self._local is not None else local[0]], local[:-1]))
        steps = local - before
        forward = steps[steps > 0]
        if self._usual is None and len(forward):
            self._usual = float(np.median(forward))
        shifts = np.zeros(len(local), dtype=np.int64)
        if self._changes and self._usual is not None:
            shifts = self._clock_changes(local, steps)
        elif self._bias is None:
            return self._zoned(local, before)
        utc = local + (self._bias or 0) + self._shift + np.cumsum(shifts)
        self._shift += int(shifts.sum())
        return utc, self._lengths((steps + shifts) / NS, local)

    def _zoned(self, local: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Without a bias in the header: by the zone that the user gave."""
        zone = zone_of(self._source)
        utc = zone.utc(local)
        first = zone.utc(before[:1])
        return utc, self._lengths(np.diff(np.concatenate((first, utc))) / NS, local)

    def _lengths(self, lengths: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Lengths of intervals, NaN where time did not advance; where the clock was set back is noted."""
        for place in np.flatnonzero(lengths < 0):
            moment = np.datetime64(int(local[place]), "ns").astype("datetime64[s]")
            self._source.notes.skip("intervals", "the clock was set back", 1, f"to {moment}")
        self._local = int(local[-1])
        return np.where(lengths > 0, lengths, np.nan)

    def _clock_changes(self, local: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """What to add from a sample on, in ns: an hour where local time went back one, and the reverse.

        An hour forward is taken for a change only from the last interval before a full hour into the first of the next
        but one, at night: elsewhere it is a gap.
        """
        usual = self._usual or 0.0
        near = max(2.0 * NS, usual / 2)
        back = np.abs(steps + _HOUR - usual) <= near
        before = local - steps
        to_full = _HOUR - before % _HOUR
        night = (before // _HOUR) % 24 < 4
        ahead = (np.abs(steps - _HOUR - usual) <= near) & (to_full <= usual + near) & night & (usual < _HOUR)
        shifts = np.where(back, _HOUR, 0) - np.where(ahead, _HOUR, 0)
        for place in np.flatnonzero(shifts):
            words = "back" if shifts[place] > 0 else "forward"
            moment = np.datetime64(int(before[place]), "ns").astype("datetime64[s]")
            self._source.notes.fact("clock", f"set {words} one hour after {moment} (daylight saving time)")
        return np.asarray(shifts, dtype=np.int64)

    def _parsed(self, texts: pl.Series, line: int) -> np.ndarray:
        # Spreadsheets put spaces around cells, and write parts of a second as the language does.
        clean = texts.str.strip_chars().str.replace(r",(\d{1,3})$", ".$1")
        if self._format in {None, _NO_DATE} and clean.str.contains(_NO_DATE).all():
            self._format = _NO_DATE
            return self._unrolled(clean)
        formats = _FORMATS if self._format is None else (self._format,)
        parsed: pl.Series | None = None
        for form in formats:
            tried = clean.str.to_datetime(form, time_unit="ns", strict=False)
            if not tried.null_count():
                # Windows writes the month first in every language; a spreadsheet that saved the log again does not.
                if self._format is None and form != _FORMATS[0]:
                    doubt(self._source, clean, form)
                self._format = form
                return tried.to_physical().to_numpy()
            if parsed is None or tried.null_count() < parsed.null_count():
                parsed = tried
        place = int((parsed if parsed is not None else clean).is_null().arg_max() or 0)
        raise self._source.error(
            f'"{str(texts[place])[:40]}" is no time', "stamps are written as 12/31/2026 23:59:59.000", line=line + place
        )

    def _unrolled(self, texts: pl.Series) -> np.ndarray:
        """Stamps of minutes and seconds, in order: an hour has passed where they fall."""
        if self._local is None:
            self._source.notes.fact("clock", "a spreadsheet has removed date and hour from the stamps")
            self._bias, self._changes = 0, False
        parts = texts.str.split_exact(":", 1).struct.unnest().cast(pl.Float64)
        within = np.rint((parts["field_0"] * 60 + parts["field_1"]).to_numpy() * 10).astype(np.int64) * (NS // 10)
        start = start_of(self._source)
        first = within[0] if self._local is None else (self._local - start) % _HOUR
        hours = np.cumsum(np.diff(within, prepend=first) < 0) * _HOUR
        begin = start if self._local is None else self._local - first
        return np.asarray(begin + hours + within, dtype=np.int64)

    def _spread(self, local: np.ndarray) -> np.ndarray:
        """Samples of one minute whose stamps have lost their seconds, evenly over the minute."""
        starts = np.flatnonzero(np.diff(local, prepend=local[0] - 1))
        counts = np.diff(starts, append=len(local))
        usual = int(np.percentile(counts, 75))
        if usual < 2:
            return local
        self._source.notes.fact(
            "clock", f"the stamps have no seconds: {usual} samples a minute, taken as evenly spread"
        )
        place = np.arange(len(local)) - np.repeat(starts, counts)
        # The first minute of the log may have begun before it, the last may end after it.
        place[: counts[0]] += max(0, usual - counts[0]) if self._local is None else 0
        each = np.repeat(np.maximum(counts, usual), counts)
        return np.asarray(local + place * _MINUTE // each, dtype=np.int64)
