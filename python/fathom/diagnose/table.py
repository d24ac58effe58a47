"""The samples of a log: `Block`s, which every importer yields, and the same as one table for programs.

A block holds series that share their moments, so a log with one row per moment stays as wide as it is. As a table
(`rows`) there is one row per sample:

| column | type | holds |
|---|---|---|
| time | Datetime("ns", "UTC") | end of the interval, or the moment of a gauge |
| seconds | Float64 | length of the interval the value covers; null where the log does not tell |
| host | Categorical | machine the value belongs to; null where the log names none |
| device | Categorical | what within the layer (`LAYERS` says what it names); null for the whole host or server |
| layer | Enum | one of `Layer` |
| metric | Enum | one of `METRICS` |
| value | Float64 | in the metric's unit; null where the log has a sample without a value, never zero for missing |

Importers of formats whose moments differ from device to device collect single values in `Rows`.
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
"""Columns and types of the table, in this order."""

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


class Block(NamedTuple):
    """Samples of series that share their moments, in any order of moments.

    Attributes:
        series: one per column, each once.
        times_ns: nanoseconds since 1970, UTC, one per row.
        seconds: length of each interval, NaN where the log does not tell.
        values: one row per moment, one column per series; NaN is missing.
    """

    series: tuple[Series, ...]
    times_ns: NDArray[np.int64]
    seconds: NDArray[np.float64]
    values: NDArray[np.float64]

    @property
    def samples(self) -> int:
        """How many samples it holds, those without a value included."""
        return self.values.size


def grouped(
    series: Sequence[Series],
    which: NDArray[np.integer],
    times_ns: NDArray[np.int64],
    seconds: NDArray[np.float64],
    values: NDArray[np.float64],
) -> list[Block]:
    """Single samples as blocks, one per series, each in the order given.

    Args:
        series: what `which` numbers.
        which: the series of each sample.
        times_ns: as in `Block`, one per sample, as the following two.
        seconds: length of the interval.
        values: what was measured.
    """
    order = np.argsort(which, kind="stable")
    begins = np.flatnonzero(np.diff(which[order], prepend=-1))
    return [
        Block((series[which[part[0]]],), times_ns[part], seconds[part], values[part].reshape(-1, 1))
        for part in np.split(order, begins[1:])
        if len(part)
    ]


def rows(blocks: Iterable[Block]) -> pl.DataFrame:
    """All samples of some blocks as one table, block by block and series by series."""
    index: dict[Series, int] = {}
    which, times, seconds, values = [], [], [], []
    for block in blocks:
        moments, columns = block.values.shape
        places = [index.setdefault(each, len(index)) for each in block.series]
        which.append(np.repeat(np.array(places, dtype=np.uint32), moments))
        times.append(np.tile(block.times_ns, columns))
        seconds.append(np.tile(block.seconds, columns))
        values.append(block.values.ravel(order="F"))
    if not index:
        return pl.DataFrame(schema=SCHEMA)
    frame = _keys(list(index)).select(pl.all().gather(pl.Series(np.concatenate(which))))
    return frame.with_columns(
        pl.Series("time", np.concatenate(times)).cast(pl.Datetime("ns")).dt.replace_time_zone("UTC"),
        pl.Series("seconds", np.concatenate(seconds)).fill_nan(None),
        pl.Series("value", np.concatenate(values)).fill_nan(None),
    ).select(SCHEMA.names())


class Rows:
    """Collects single values into blocks: for formats whose moments differ from device to device."""

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

    def take(self) -> list[Block]:
        """All that was added since the last call."""
        found = grouped(
            list(self._index),
            np.array(self._which, dtype=np.int64),
            np.array(self._times, dtype=np.int64),
            np.array(self._seconds, dtype=np.float64),
            np.array(self._values, dtype=np.float64),
        )
        self._which, self._times, self._seconds, self._values = [], [], [], []
        return found

    def take_if(self, samples: int = 100_000) -> list[Block]:
        """As `take`, once there are so many samples; nothing before."""
        return self.take() if len(self) >= samples else []


def checked(block: Block) -> tuple[Block, int]:
    """The block with impossible values as missing, and how many there were: infinite or negative ones.

    No metric of the registry can be negative; logs have such values where a counter was reset or a clock stepped.

    Raises:
        TypeError: the arrays do not fit each other: a defect of an importer.
    """
    values, moments = block.values, len(block.times_ns)
    kinds = f"{block.times_ns.dtype} {block.seconds.dtype} {values.dtype}"
    if kinds != "int64 float64 float64" or values.shape != (moments, len(block.series)):
        raise TypeError(f"{values.shape} values ({kinds}) for {moments} moments of {len(block.series)} series")
    impossible = (values < 0) | np.isinf(values)
    count = int(np.count_nonzero(impossible))
    return (block._replace(values=np.where(impossible, np.nan, values)) if count else block), count


def _keys(series: Sequence[Series]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            name: pl.Series(name, [None if key[place] is None else str(key[place]) for key in series], dtype=pl.String)
            for place, name in enumerate(_KEYS)
        }
    ).cast({name: SCHEMA[name] for name in _KEYS})
