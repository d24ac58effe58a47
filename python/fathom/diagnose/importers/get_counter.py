r"""PowerShell's `Get-Counter`, exported as a long table: one line per counter and moment.

`(Get-Counter ...).CounterSamples | Export-Csv` has columns `Path`, `CookedValue` and `Timestamp`; `Get-Counter ... |
Export-Csv` has `Timestamp` and `Readings`, a text of lines `\\host\path :` and value. Paths are in lower case; stamps
are those of the computer's language, local time without zone; numbers may have decimal commas.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from fathom.diagnose import tables
from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.importer import Importer
from fathom.diagnose.moments import Moments
from fathom.diagnose.numbers import number
from fathom.diagnose.source import Head, Source, encoding_of
from fathom.diagnose.table import Block, Rows
from fathom.diagnose.windows import Mapped, mapped, path_of

_PATHS, _VALUES, _TIMES, _READINGS = {"path"}, {"cookedvalue", "value"}, {"timestamp", "time", "date"}, {"readings"}


def recognise(head: Head) -> float:
    """A table whose columns have the names of PowerShell's samples."""
    return 0.9 if _columns(head.text) else 0.0


def read(source: Source) -> Iterator[Block]:
    """All counters of the table, as of any Windows log."""
    head = source.head()
    found = _columns(head.text)
    if found is None:
        raise source.error(
            "no columns Path, CookedValue and Timestamp", "export `(Get-Counter ...).CounterSamples`", line=1
        )
    separator, names, skipped = found
    encoding = encoding_of(head.data) or "cp1252"
    with source.open() as file, source.reading():
        text = io.TextIOWrapper(file, encoding, errors="replace", newline="")
        for _ in range(skipped + 1):
            text.readline()
        table = csv.reader(tables.whole_lines(source, text), delimiter=separator)
        yield from _rows(source, _numbered(source, table, skipped + 1), names)


def _numbered(source: Source, table: Iterator[list[str]], before: int) -> Iterator[tuple[int, list[str]]]:
    line = before
    while True:
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error as problem:
            raise source.error(f"no table: {problem}", "export it again", line=line + 1) from None
        line = before + int(getattr(table, "line_num", 0))
        yield line, cells


def _rows(source: Source, table: Iterator[tuple[int, list[str]]], names: list[str]) -> Iterator[Block]:
    rows, known = Rows(), dict[str, Mapped | None]()
    moments = Moments(source)
    readings = next((place for place, name in enumerate(names) if name in _READINGS), None)
    time_place = next(place for place, name in enumerate(names) if name in _TIMES)
    samples: list[tuple[int, str, str, str]] = []
    for line, cells in table:
        if not any(cells):
            continue
        if len(cells) != len(names):
            source.notes.skip("lines", "not as many cells as the header", 1, f"line {line}")
            continue
        if readings is not None:
            pairs = re.findall(r"(\\\\[^\n]*?)[ \t]*:[ \t]*\n[ \t]*([^\n]*)", cells[readings].replace("\r", ""))
        else:
            pairs = [(cells[_place(names, _PATHS)], cells[_place(names, _VALUES)])]
        for path, value in pairs:
            samples.append((line, cells[time_place], path, value))
        if len(samples) >= 50_000:
            yield from _samples(source, samples, known, moments, rows)
            samples = []
    yield from _samples(source, samples, known, moments, rows)
    yield from rows.take()


def _samples(
    source: Source,
    samples: list[tuple[int, str, str, str]],
    known: dict[str, Mapped | None],
    moments: Moments,
    rows: Rows,
) -> Iterator[Block]:
    times = moments.times([(line, stamp) for line, stamp, _, _ in samples])
    for (line, _, path, text), time in zip(samples, times, strict=True):
        if path not in known:
            taken_apart = path_of(path)
            known[path] = None if taken_apart is None else mapped(taken_apart)
            if known[path] is None:
                source.notes.skip("counters", NOT_NEEDED, 1, path[:200])
        what = known[path]
        if what is None or what.cumulative:
            continue
        value = _plain(text)
        if value is None and text.strip():
            source.notes.skip("values", "no numbers, taken as missing", 1, f"line {line}: {text[:40]}")
        if value is not None:
            value = value * what.scale
            value = max(0.0, 100.0 - value) if what.inverted else value
            value = None if what.zero_is_missing and value == 0 else value
        rows.add(time, moments.seconds(time), what.series, value)
    yield from rows.take_if(1)


def _plain(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return number(text)


def _place(names: list[str], wanted: set[str]) -> int:
    return next(place for place, name in enumerate(names) if name in wanted)


def _columns(text: str) -> tuple[str, list[str], int] | None:
    """Separator, names in lower case, and how many lines precede them (`#TYPE ...`)."""
    for skipped, line in enumerate(text.lstrip("\ufeff").splitlines()[:3]):
        for separator in (",", ";", "\t"):
            try:
                names = [name.strip().strip('"').casefold() for name in next(csv.reader([line], delimiter=separator))]
            except (csv.Error, StopIteration):
                continue
            given = set(names)
            long = given & _PATHS and given & _VALUES
            if given & _TIMES and (long or given & _READINGS):
                return separator, names, skipped
    return None


IMPORTER = Importer("get-counter", "PowerShell Get-Counter, exported as CSV", recognise, read)
