"""Logs that were read: one lazy table of samples, and what each log told beside it.

Samples up to a limit are kept in memory; beyond it they go to a temporary folder as Parquet, so that memory is bounded
however long the logs are.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl

from fathom.diagnose.clock import Zone
from fathom.diagnose.facts import Told
from fathom.diagnose.importer import Importer, importer_named, recognised
from fathom.diagnose.source import Source
from fathom.diagnose.table import checked, empty

IN_MEMORY_ROWS = 10_000_000
"""Rows of samples that are kept in memory, some 350 MB."""
_PART_ROWS = 2_000_000

Tick = Callable[[str, int], None]
"""Called after each batch with the log's name and the number of samples read from it so far; may raise to stop."""


@dataclass
class Log:
    """All logs of one diagnosis, as one.

    Attributes:
        samples: the table (`table.SCHEMA`), lazy; rows are in the logs' order, not sorted.
        rows: how many there are.
        told: one entry per log, in the order given.
    """

    samples: pl.LazyFrame
    rows: int
    told: list[Told]
    _folder: Path | None = field(default=None, repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Removes what was spilled to disk; the table is not usable afterwards."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def series(self) -> pl.DataFrame:
        """One row per series: host, device, layer, metric, samples (with a value), missing, first, last, interval_s
        (median of `seconds`), mean, max; sorted.
        """
        value = pl.col("value")
        found = self.samples.group_by("layer", "host", "device", "metric").agg(
            value.count().alias("samples"),
            value.null_count().alias("missing"),
            pl.col("time").min().alias("first"),
            pl.col("time").max().alias("last"),
            pl.col("seconds").median().alias("interval_s"),
            value.mean().alias("mean"),
            value.max().alias("max"),
        )
        order = pl.col("host", "device").cast(pl.String)
        return found.with_columns(order).sort("layer", "host", "device", "metric").collect(engine="streaming")


def batches(source: Source, importer: Importer | None = None) -> Iterator[pl.DataFrame]:
    """The samples of one log, checked, batch by batch.

    Args:
        source: the log; what it tells beside the samples goes to `source.told`.
        importer: the format; recognised if None.

    Raises:
        LogError: the log cannot be read or is damaged.
    """
    importer = importer or recognised(source)
    source.told.format, source.told.title = importer.name, importer.title
    for batch in importer.read(source):
        good, impossible = checked(batch)
        source.told.skip("values", "negative or infinite: a counter was reset, or the clock stepped", impossible)
        if good.height:
            yield good


def read(
    paths: Sequence[Path],
    zone: Zone | None = None,
    importer: Importer | None = None,
    tick: Tick | None = None,
    start_ns: int | None = None,
) -> Log:
    """All logs as one table. Close the result (or use it as a context) when done.

    Args:
        paths: the logs.
        zone: of local times in logs that name none; UTC if None.
        importer: the format of all of them; each is recognised if None.
        tick: told of progress.
        start_ns: when logs began whose times count from their start.

    Raises:
        LogError: a log cannot be read, is damaged, or holds no sample.
    """
    keeper = _Keeper()
    told = []
    try:
        for path in paths:
            source = Source(path, zone, start_ns=start_ns)
            rows = 0
            for batch in batches(source, importer):
                rows += batch.height
                keeper.add(batch)
                if tick is not None:
                    tick(str(path), rows)
            if not rows and not importer_named(source.told.format).facts_only:
                raise _nothing(source)
            told.append(source.told)
        return keeper.log(told)
    except BaseException:
        keeper.discard()
        raise


def _nothing(source: Source) -> Exception:
    left = "; ".join(f"{each.count} {each.what}: {each.why}" for each in source.told.skipped)
    return source.error(
        f"recognised as {source.told.title}, but it holds no sample" + (f" ({left})" if left else ""),
        "record longer, with the counters of docs/DIAGNOSE.md",
    )


class _Keeper:
    """Keeps batches in memory up to `IN_MEMORY_ROWS`, then on disk."""

    def __init__(self) -> None:
        self._kept: list[pl.DataFrame] = []
        self._height = 0
        self._folder: Path | None = None
        self._parts: list[Path] = []
        self.rows = 0

    def add(self, batch: pl.DataFrame) -> None:
        self._kept.append(batch)
        self._height += batch.height
        self.rows += batch.height
        if self.rows > IN_MEMORY_ROWS and self._height >= _PART_ROWS:
            self._spill()

    def log(self, told: list[Told]) -> Log:
        if self._folder is None:
            frame = pl.concat(self._kept, rechunk=False) if self._kept else empty()
            return Log(frame.lazy(), self.rows, told)
        self._spill()
        return Log(pl.scan_parquet(self._parts), self.rows, told, self._folder)

    def discard(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="fathom-diagnose-"))
        if self._kept:
            self._parts.append(self._folder / f"{len(self._parts):06}.parquet")
            pl.concat(self._kept, rechunk=False).write_parquet(self._parts[-1], compression="lz4", statistics=False)
        self._kept, self._height = [], 0
