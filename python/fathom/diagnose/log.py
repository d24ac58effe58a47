"""The logs read: their samples as blocks, also as one lazy table, and the notes on each log.

Samples up to a limit are kept in memory; beyond it they go to a temporary folder, so that memory is bounded however
long the logs are.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from fathom.diagnose.clock import Zone
from fathom.diagnose.facts import NOT_NEEDED, LogNotes
from fathom.diagnose.importer import Importer, importer_named, recognised
from fathom.diagnose.long_requests import note_long_requests
from fathom.diagnose.source import NoLogError, Source
from fathom.diagnose.summary import summary
from fathom.diagnose.table import SCHEMA, Block, Series, checked, rows
from fathom.diagnose.unnamed import Unnamed
from fathom.errors import UsageError

IN_MEMORY = 192 << 20
"""Bytes of samples that are kept in memory; those behind them go to disk."""
_PART = 32 << 20
"""Bytes that are written and read again at once."""

Tick = Callable[[str, int], None]
"""Called now and then with the log's name and the number of samples read from it so far; may raise to stop."""
_TICK = 100_000
"""Samples from one call to the next."""


@dataclass
class Log:
    """All logs of one diagnosis, as one.

    Attributes:
        rows: how many samples there are.
        notes: one entry per log, in the order given.
    """

    rows: int
    notes: list[LogNotes]
    _kept: _Kept

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Removes what was spilled to disk; the samples are not usable afterwards."""
        self._kept.discard()

    def blocks(self) -> Iterator[Block]:
        """All samples, in the logs' order."""
        for part in self._kept.parts():
            yield from part

    @cached_property
    def samples(self) -> pl.LazyFrame:
        """All samples as one table (`table.SCHEMA`), lazy; rows are in the order of `blocks`, not sorted."""

        def scan(
            columns: list[str] | None, predicate: pl.Expr | None, most: int | None, _size: int | None
        ) -> Iterator[pl.DataFrame]:
            for part in self._kept.parts():
                frame = rows(part)
                frame = frame if predicate is None else frame.filter(predicate)
                frame = frame if most is None else frame.head(most)
                yield frame if columns is None else frame.select(columns)
                most = None if most is None else most - frame.height
                if most == 0:
                    return

        return register_io_source(scan, schema=SCHEMA)

    @cached_property
    def series(self) -> pl.DataFrame:
        """One row per series (`summary.summary`)."""
        return summary(self.blocks())


def blocks(source: Source, importer: Importer | None = None) -> Iterator[Block]:
    """The samples of one log, checked.

    Args:
        source: the log; what it has besides samples goes to `source.notes`.
        importer: the format; recognised if None.

    Raises:
        LogError: the log cannot be read or is damaged.
    """
    importer = importer or recognised(source)
    source.notes.format, source.notes.title = importer.name, importer.title
    for block in importer.read(source):
        good, impossible = checked(block)
        source.notes.skip("values", "negative or infinite: a counter was reset, or the clock stepped", impossible)
        if good.samples:
            yield good


def _recognised(source: Source, strange: list[NoLogError]) -> Importer | None:
    """The format of a log; None for a file that is no log, which its notes tell."""
    try:
        return recognised(source)
    except NoLogError as error:
        strange.append(error)
        source.notes.title = "not read"
        source.notes.skip("logs", f"{error.problem}; {error.remedy}", 1, source.path.name)
        note_long_requests(source)
        return None


def _check_distinct(paths: Sequence[Path]) -> None:
    """A log that is read twice counts twice."""
    for place, path in enumerate(paths):
        for other in paths[:place]:
            if path == other or (path.exists() and other.exists() and path.samefile(other)):
                same = "" if path == other else f" as {other}"
                raise UsageError(f"{path}: this log is named already{same}", "name each log once")


def read(
    paths: Sequence[Path],
    zone: Zone | None = None,
    importer: Importer | None = None,
    tick: Tick | None = None,
    start_ns: int | None = None,
) -> Log:
    """All logs as one. Close the result (or use it as a context) when done.

    Args:
        paths: the logs.
        zone: of local times in logs that name none; UTC if None.
        importer: the format of all of them; each is recognised if None.
        tick: called with the progress.
        start_ns: when logs began whose times count from their start.

    Raises:
        UsageError: one log is named twice, or two of one disk have no times.
        LogError: a log cannot be read or is damaged, none of them holds a sample (a file that is no
            log is noted beside others), or two hold one metric of volumes that they do not name.
    """
    _check_distinct(paths)
    kept = _Kept()
    notes: list[LogNotes] = []
    spans: list[_Span] = []
    empty: list[Source] = []
    strange: list[NoLogError] = []
    unnamed = Unnamed()
    try:
        for path in paths:
            source = Source(path, zone, start_ns=start_ns)
            count = ticked = 0
            span = _Span(source.notes)
            notes.append(source.notes)
            form = importer or _recognised(source, strange)
            for block in () if form is None else blocks(source, form):
                count += block.samples
                span.take(block)
                if not unnamed.take(source, block):
                    kept.add(block)
                if tick is not None and count - ticked >= _TICK:
                    tick(str(path), count)
                    ticked = count
            if form is not None and not count and not form.facts_only:
                empty.append(source)
            spans.append(span)
        _check_counted(spans)
        _note_apart(spans)
        for block in unnamed.named(notes):
            kept.add(block)
        if strange and not kept.samples:
            raise strange[0]
        # One metric without data among several files is what clouds answer for what a volume does not have.
        if empty and not kept.samples:
            raise _nothing(empty[0])
        for source in (each for each in empty if not each.notes.skipped):
            source.notes.skip("logs", "no sample in it", 1, source.notes.path)
        return Log(kept.samples, notes, kept)
    except BaseException:
        kept.discard()
        raise


class _Span:
    """Hosts and time of a log's samples."""

    def __init__(self, notes: LogNotes) -> None:
        self.notes = notes
        self.hosts: set[str | None] = set()
        self.disks: set[tuple[str | None, str | None]] = set()
        """Host and device, of a log whose times are counted."""
        self.first, self.last = np.iinfo(np.int64).max, np.iinfo(np.int64).min

    def take(self, block: Block) -> None:
        self.hosts.update(series.host for series in block.series)
        if self.notes.counted:
            self.disks.update((series.host, series.device) for series in block.series if series.device is not None)
        self.first, self.last = min(self.first, block.times_ns.min()), max(self.last, block.times_ns.max())

    def is_apart(self, other: _Span) -> bool:
        """Whether two logs share no moment and are no parts of one recording."""
        parts = self.notes.format == other.notes.format and bool(self.hosts & other.hosts)
        return not parts and not self.meets(other)

    def meets(self, other: _Span) -> bool:
        """Whether two logs share moments."""
        return self.first <= other.last and other.first <= self.last

    def __str__(self) -> str:
        first, last = (f"{np.datetime64(int(each), 'ns'):.16}".replace("T", " ") for each in (self.first, self.last))
        return f"{Path(self.notes.path).name} ({first} to {last} UTC)"


def _check_counted(spans: Sequence[_Span]) -> None:
    """Two logs of one disk without times would both count from one beginning, and a mean of both is of neither."""
    known = [span for span in spans if span.notes.counted]
    for place, other in enumerate(known):
        for one in known[:place]:
            if one.notes.format == other.notes.format and one.disks & other.disks and other.meets(one):
                problem = f"{other.notes.path}: its reports have no times, nor have those of {one.notes.path}"
                raise UsageError(
                    f"{problem}, so that both count from one moment",
                    "diagnose each by itself; in one file, each call below a line with its time (`date`), they are "
                    "kept apart",
                )


def _note_apart(spans: Sequence[_Span]) -> None:
    """Logs are joined by time: of those that share none, nothing follows for each other."""
    known = [span for span in spans if span.hosts]
    pairs = ((one, other) for place, one in enumerate(known) for other in known[place + 1 :])
    for one, other in pairs:
        if one.is_apart(other):
            how = "if they should, state --start or --time-zone"
            one.notes.fact("note", f"{one} and {other} share no moment: neither explains the other; {how}")
            return


def _nothing(source: Source) -> Exception:
    importer, skipped = importer_named(source.notes.format), source.notes.skipped
    left = "; ".join(
        f"{each.count} {each.what}: {each.why}"
        + (f", as {each.example}" if each.why == NOT_NEEDED and each.example else "")
        for each in skipped
    )
    remedy = "record longer, with the counters of docs/DIAGNOSE.md"
    if importer.looks:
        how = f": {importer.record}" if importer.record else ""
        remedy = f"its counters only rise, so two looks make one sample: look again every 1 to 60 s{how}"
    elif skipped and all(each.why == NOT_NEEDED for each in skipped):
        how = (importer.record or "docs/DIAGNOSE.md lists them").removeprefix("record with: ")
        remedy = f"record the counters of disks; more of these do not help: {how}"
    return source.error(
        f"recognised as {source.notes.title}, but it holds no sample" + (f" ({left})" if left else ""), remedy
    )


class _Kept:
    """Blocks in memory up to `IN_MEMORY` bytes, those behind them in files of some `_PART` each."""

    def __init__(self) -> None:
        self.samples = 0
        self._memory = _Blocks([], 0)
        self._waiting = _Blocks([], 0)
        """Not yet written."""
        self._folder: Path | None = None
        self._files: list[tuple[Path, list[tuple[tuple[Series, ...], int]]]] = []
        """Each with series and moments of its blocks."""

    def add(self, block: Block) -> None:
        self.samples += block.samples
        if self._memory.bytes < IN_MEMORY:
            self._memory.add(block)
            return
        self._waiting.add(block)
        if self._waiting.bytes >= _PART:
            self._spill()

    def parts(self) -> Iterator[list[Block]]:
        """All blocks in the order they came; from disk at most some `_PART` bytes at once."""
        yield self._memory.blocks
        for path, contents in self._files:
            data, place, found = np.fromfile(path, dtype=np.float64), 0, []
            for series, moments in contents:
                ends = place + moments * np.array([1, 2, 2 + len(series)])
                times, seconds, values = np.split(data[place : ends[-1]], ends[:2] - place)
                shaped = values.reshape((moments, len(series)), order="F")
                # Copies: a few kept moments must not keep the whole part.
                found.append(Block(series, times.view(np.int64).copy(), seconds.copy(), shaped))
                place = ends[-1]
            yield found
        yield self._waiting.blocks

    def discard(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="fathom-diagnose-"))
        path = self._folder / f"{len(self._files):06}"
        with path.open("wb") as file:
            for block in self._waiting.blocks:
                for array in (block.times_ns, block.seconds, block.values.ravel(order="F")):
                    np.ascontiguousarray(array).tofile(file)
        self._files.append((path, [(block.series, len(block.times_ns)) for block in self._waiting.blocks]))
        self._waiting = _Blocks([], 0)


@dataclass
class _Blocks:
    """Some blocks and the memory they take."""

    blocks: list[Block]
    bytes: int

    def add(self, block: Block) -> None:
        self.blocks.append(block)
        self.bytes += block.times_ns.nbytes + block.seconds.nbytes + block.values.nbytes
