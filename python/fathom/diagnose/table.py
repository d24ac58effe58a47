"""The table of samples that every importer fills and every rule reads, as polars frames.

| column | type | holds |
|---|---|---|
| time | Datetime("ns", "UTC") | end of the interval, or the moment of a gauge |
| seconds | Float64 | length of the interval the value covers; null where the log does not tell |
| host | Categorical | machine the value belongs to; null where the log names none |
| device | Categorical | what within the layer (`LAYERS` says what it names); null for the whole host or server |
| layer | Enum | one of `Layer` |
| metric | Enum | one of `METRICS` |
| value | Float64 | in the metric's unit; null where the log has a sample without a value, never zero for missing |

Importers yield batches: frames of these columns, some 100,000 rows each, in any order of rows. `Wide` makes them
from the columns of a log with one row per moment, `Rows` from single values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from fathom.diagnose.metrics import METRICS, Layer

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCHEMA = pl.Schema(
    {
        "time": pl.Datetime("ns", "UTC"),
        "seconds": pl.Float64(),
        "host": pl.Categorical(),
        "device": pl.Categorical(),
        "layer": pl.Enum([layer.value for layer in Layer]),
        "metric": pl.Enum(list(METRICS)),
        "value": pl.Float64(),
    }
)
"""Columns and types of every batch, in this order."""

_KEYS = ("host", "device", "layer", "metric")


class Series(NamedTuple):
    """What one column of numbers is about.

    Attributes:
        host: the machine; None where the log names none.
        device: what within the layer; None for the whole host or server.
        layer: where it was measured.
        metric: a name of `METRICS`.
    """

    host: str | None
    device: str | None
    layer: Layer
    metric: str


def empty() -> pl.DataFrame:
    """A table without rows."""
    return pl.DataFrame(schema=SCHEMA)


class Wide:
    """Makes batches from a log with one row per moment and one column per series."""

    def __init__(self, columns: Sequence[Series]) -> None:
        self._count = len(columns)
        self._keys = _keys(columns)

    def batch(
        self, times_ns: NDArray[np.int64], seconds: NDArray[np.float64] | None, values: NDArray[np.float64]
    ) -> pl.DataFrame:
        """A batch from a block of rows.

        Args:
            times_ns: nanoseconds since 1970, UTC, one per row.
            seconds: length of each interval, NaN where unknown; None for moments without intervals.
            values: one row per moment, one column per series; NaN is missing.
        """
        rows = len(times_ns)
        if not self._count or not rows:
            return empty()
        which = np.repeat(np.arange(self._count, dtype=np.uint32), rows)
        lengths = np.full(rows, np.nan) if seconds is None else seconds
        frame = self._keys.select(pl.all().gather(pl.Series(which)))
        return frame.with_columns(
            pl.Series("time", np.tile(times_ns, self._count)).cast(pl.Datetime("ns")).dt.replace_time_zone("UTC"),
            pl.Series("seconds", np.tile(lengths, self._count)).fill_nan(None),
            pl.Series("value", values.ravel(order="F")).fill_nan(None),
        ).select(SCHEMA.names())


class Rows:
    """Collects single values into batches: for formats whose moments differ from device to device."""

    def __init__(self) -> None:
        self._index: dict[Series, int] = {}
        self._which: list[int] = []
        self._times: list[int] = []
        self._seconds: list[float | None] = []
        self._values: list[float | None] = []

    def __len__(self) -> int:
        return len(self._values)

    def add(self, time_ns: int, seconds: float | None, series: Series, value: float | None) -> None:
        """One value; None is missing."""
        self._which.append(self._index.setdefault(series, len(self._index)))
        self._times.append(time_ns)
        self._seconds.append(seconds)
        self._values.append(value)

    def take(self) -> pl.DataFrame:
        """All that was added since the last call, as a batch."""
        if not self._values:
            return empty()
        frame = _keys(list(self._index)).select(pl.all().gather(pl.Series(self._which, dtype=pl.UInt32)))
        frame = frame.with_columns(
            pl.Series("time", self._times, dtype=pl.Int64).cast(pl.Datetime("ns")).dt.replace_time_zone("UTC"),
            pl.Series("seconds", self._seconds, dtype=pl.Float64),
            pl.Series("value", self._values, dtype=pl.Float64).fill_nan(None),
        ).select(SCHEMA.names())
        self._which, self._times, self._seconds, self._values = [], [], [], []
        return frame

    def take_if(self, rows: int = 100_000) -> Iterable[pl.DataFrame]:
        """The batch, once it has so many rows; nothing before."""
        return [self.take()] if len(self) >= rows else []


def checked(batch: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The batch with impossible values as missing, and how many there were: infinite or negative ones.

    No metric of the registry can be negative; logs have such values where a counter was reset or a clock stepped.

    Raises:
        TypeError: columns or types are not those of `SCHEMA`: a defect of an importer.
    """
    if batch.schema != SCHEMA:
        raise TypeError(f"a batch has {batch.schema}, not the table's columns")
    value = pl.col("value")
    impossible = (value < 0) | value.is_infinite() | value.is_nan()
    count = int(batch.select(impossible.sum()).item() or 0)
    if count:
        batch = batch.with_columns(pl.when(impossible).then(None).otherwise(value).alias("value"))
    return batch, count


def _keys(series: Sequence[Series]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            name: pl.Series(name, [None if key[place] is None else str(key[place]) for key in series], dtype=pl.String)
            for place, name in enumerate(_KEYS)
        }
    ).cast({name: SCHEMA[name] for name in _KEYS})
