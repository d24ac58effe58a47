"""Time stamps in any form: one form for a whole log, the one that fits every stamp of a part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fathom.diagnose.clock import BY_COMMAS, NS, is_day_first, note_offset, zone_of

if TYPE_CHECKING:
    from fathom.diagnose.source import Source

_ZONED = ("%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f %#z", "%Y-%m-%dT%H:%M%#z")
_LOCAL = (
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%Y/%m/%d %H:%M:%S%.f",
    "%Y/%m/%d %H:%M",
    "%m/%d/%Y %I:%M:%S %p",
    "%m/%d/%Y %I:%M %p",
    "%m/%d/%Y, %I:%M:%S %p",
    "%m/%d/%Y, %I:%M %p",
    "%m/%d/%Y %H:%M:%S%.f",
    "%m/%d/%Y %H:%M",
    "%d.%m.%Y %H:%M:%S%.f",
    "%d.%m.%Y %H:%M",
    "%d/%m/%Y %H:%M:%S%.f",
    "%d/%m/%Y %H:%M",
    "%d-%m-%Y %H:%M:%S%.f",
    # How SQL Server converts a datetime to text by itself (CAST and CONVERT, styles 0 and 109).
    "%b %d %Y %I:%M%p",
    "%b %d %Y %I:%M:%S:%3f%p",
)

_EPOCH = ("epoch", True)
"""Seconds since 1970, with or without parts."""


def doubt(source: Source, texts: pl.Series, form: str) -> None:
    """Tells where stamps are read with the month first that may begin with the day, or the reverse."""
    numbers = texts.str.extract_groups(r"^(\d{1,2})/(\d{1,2})/").struct.unnest().cast(pl.Int64)
    slashes = form.startswith(("%m/%d", "%d/%m")) and all(int(str(each.max() or 0)) <= 12 for each in numbers)
    if slashes:
        how = "with the month first" if form.startswith("%m") else BY_COMMAS
        source.notes.fact("note", f"{texts[0]} is read {how}; times as 2026-12-31 23:59:59 leave no doubt")


def _with_zone(text: str) -> str:
    """UTC as a number, whatever its name. Polars does it as well, in a call that takes longer than many stamps."""
    if text.endswith(("Z", "z")):
        return f"{text[:-1]}+00:00"
    return f"{text.removesuffix(' UTC')}+00:00" if text.endswith(" UTC") else text


class Moments:
    """Turns stamps into UTC; remembers the form and the usual step between different moments.

    Args:
        source: for errors, facts and the user's zone.
        utc: whether stamps without a zone are UTC by definition of the format.
    """

    def __init__(self, source: Source, *, utc: bool = False) -> None:
        self._source = source
        self._utc = utc
        self._form: tuple[str, bool] | None = None
        self._before: dict[int, float] = {}
        self._last: int | None = None
        self._latest: tuple[str, int] | None = None

    def times(self, stamps: Sequence[tuple[int, str]]) -> list[int]:
        """Nanoseconds since 1970 of stamps in the log's order.

        Args:
            stamps: line and text of each.

        Raises:
            LogError: a stamp fits no form that the others fit.
        """
        if not stamps:
            return []
        texts = pl.Series([_with_zone(text.strip()) for _, text in stamps], dtype=pl.String)
        times = self._parsed(texts, [line for line, _ in stamps])
        for time in np.unique(times).tolist():
            if self._last is not None and time > self._last:
                self._before[time] = (time - self._last) / NS
            self._last = max(time, self._last or time)
        return [int(time) for time in times]

    def time(self, line: int, text: str) -> int:
        """As `times`, of one stamp: rows of one look share theirs, and each parse takes as long as that of hundreds."""
        if self._latest is None or self._latest[0] != text:
            self._latest = text, self.times([(line, text)])[0]
        return self._latest[1]

    @property
    def has_seconds(self) -> bool:
        """Whether the stamps read so far tell more than the minute."""
        return self._form is None or self._form == _EPOCH or "%S" in self._form[0]

    def seconds(self, time: int) -> float | None:
        """Since the moment before in this log; None for the first."""
        return self._before.get(time)

    def _parsed(self, texts: pl.Series, lines: Sequence[int]) -> np.ndarray:
        if self._form in {None, _EPOCH} and texts.str.contains(r"^\d{9,10}(\.\d+)?$").all():
            # As extract(epoch from now()) writes it.
            self._form = _EPOCH
            parts = texts.str.split_exact(".", 1).struct.unnest()
            whole, rest = (
                parts["field_0"].cast(pl.Int64),
                parts["field_1"].fill_null("").str.head(9).str.pad_end(9, "0"),
            )
            return np.asarray((whole * NS + rest.cast(pl.Int64)).to_numpy())
        forms = [(form, True) for form in _ZONED] + [(form, False) for form in _LOCAL]
        if self._form is None and is_day_first(self._source.head().text):
            forms.sort(key=lambda each: each[0].startswith("%m/%d"))
        best: tuple[int, int] | None = None
        for form, zoned in [self._form] if self._form else forms:
            made = texts.str.to_datetime(form, time_unit="ns", strict=False)
            missing = made.null_count()
            if not missing and len(texts):
                if self._form is None:
                    doubt(self._source, texts, form)
                    note_offset(self._source, texts[0] if zoned else "")
                self._form = (form, zoned)
                numbers = made.to_physical().to_numpy()
                return numbers if zoned or self._utc else zone_of(self._source).utc(numbers)
            place = int(made.is_null().arg_max() or 0)
            best = min(best, (missing, place)) if best else (missing, place)
        place = best[1] if best else 0
        raise self._source.error(
            f'"{str(texts[place])[:40]}" is no time', "write times as 2026-12-31 23:59:59", line=lines[place]
        )
