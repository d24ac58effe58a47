"""`iostat` as text, of any version since 2010, with and without `-x`, `-t`, `-h` and `--compact`.

The heading gives the host, `-t` the times, or a program that put a stamp before each line (`iostat | ts '%F %T'`), or
a time above each call (`date; iostat -x 1 5` in a loop, OSWatcher). Where grep left one head only, a device that comes
again begins the next report.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from fathom.diagnose.importer import Importer
from fathom.diagnose.iostat import (
    Call,
    Lone,
    Past,
    Report,
    amount,
    is_head,
    is_stamp,
    labelled_time,
    lone,
    parted,
    samples,
)
from fathom.diagnose.iostat_columns import COLUMNS
from fathom.diagnose.iostat_command import Command, command_of
from fathom.diagnose.numbers import plain_number
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block
from fathom.diagnose.time_lines import dated, in_numbers

HEADING = re.compile(r"(Linux) (\S+) \(([^()]*)\)\s+((?:\S.*?)?\d(?:.*?\S)??)(?:\s+_?(\S*?)_?\s*\((\d+) CPU\))?\s*")
"""The first line of sysstat, with a date of any language; before version 9 it ends with the date."""
_LONGEST_HEADING = 400


def heading_of(line: str) -> re.Match[str] | None:
    """The first line of sysstat, in parts; None for any other line."""
    return HEADING.fullmatch(line.strip()) if len(line) <= _LONGEST_HEADING else None


def recognise(head: Head) -> float:
    """A table of devices with iostat's columns."""
    return 0.9 if any(is_head(parted(line)[1].split()) for line in head.lines) else 0.0


def read(source: Source) -> Iterator[Block]:
    """All reports; a recording that was restarted continues below the second heading, and lines that a parallel shell
    gathered from several hosts (`db1: sda 0.00 ...`) are read host by host.
    """
    streams: dict[str, _Stream] = {}
    for number, line in _joined(source.lines()):
        name, colon, rest = line.partition(":")
        if not (colon and (name in streams or (not any(map(str.isspace, name)) and heading_of(rest)))):
            name, rest = "", line
        if name not in streams:
            streams[name] = _Stream(source)
        yield from streams[name].line(number, rest)
    for stream in streams.values():
        yield from stream.end()


class _Stream:
    """The lines of one host, as iostat wrote them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._host: str | None = None
        self._date: str | None = None
        self._own: str | None = None
        self._reports: list[Report] = []
        self._table: _Table | None = None
        self._last: _Table | None = None
        """The last table of devices: grep leaves its rows without another head."""
        self._devices: set[str] = set()
        self._seen: set[str] = set()
        """Columns that the report has a head of."""
        self._command: Command | None = None
        """The command line above the reports."""
        self._cut: tuple[int, str | None, list[str]] | None = None
        """The begin of a wrapped row, its line and stamp."""
        self._at_head = False
        """Whether the line before was a table's head."""
        self._began: str | None = None
        """The stamp of the heading."""
        self._said: str | None = None
        """The time above the call of iostat."""
        self._past = Past()
        self._lone: dict[str | None, tuple[str | None, list[Lone]]] = {}
        """Reports that are alone below their heading, and the date of the first heading, by host."""

    def line(self, number: int, line: str) -> Iterator[Block]:
        """The samples that a line ends: those above the heading or the command line of another recording."""
        before, text = parted(line)
        words = text.split()
        if self._continues(words):
            return
        if self._table is not None and self._table.surely_has(words):
            self._row(number, before, words, self._table)
            return
        heading = heading_of(text)
        if heading:
            said = self._said if self._own is None else self._own
            yield from self._ended()
            self._host, self._date, self._own, self._table, self._last = heading[3], heading[4], None, None, None
            self._began, self._said = before, said
            self._command = self._command and self._command._replace(headed=True)
            self._source.notes.fact("os", f"{heading[1]} {heading[2]}", self._host)
            if heading[6]:
                self._source.notes.fact("cpus", heading[6], self._host)
        elif "iostat" in text and (command := command_of(text)) is not None:
            yield from self._ended()
            self._command, self._own, self._table, self._last = command, None, None, None
        elif not text:
            self._table = None
        elif (said := dated(text)) is not None:
            yield from self._ended()
            self._said, self._own, self._table = said, None, None
        elif (own := labelled_time(text) or in_numbers(text)) is not None:
            self._own, self._table = own, None
        else:
            self._in_report(number, before, text)

    def _in_report(self, number: int, before: str | None, text: str) -> None:
        """A head, a row, or a line that is neither."""
        words = text.split()
        if text.startswith("avg-cpu:"):
            self._begin(number, before)
            self._table = _Table([name.lstrip("%") for name in words[1:]], None)
        elif is_head(words):
            last = words[0] in COLUMNS
            if last and words[-1] in COLUMNS:
                self._source.notes.skip("lines", "a table without names of devices", 1, f"line {number}: {text[:60]}")
                self._table = None
                return
            columns = words[:-1] if last else words[1:]
            # With -d no line of the processor begins a report; with --pretty several tables make one.
            if not self._reports or self._seen & set(columns):
                self._begin(number, before)
            self._seen |= set(columns)
            self._reports[-1] = replace(self._reports[-1], listed=True)
            self._table, self._at_head = _Table(columns, -1 if last else 0), not last
            self._last = self._table
        elif self._table is not None and self._table.name == 0 and len(words) < self._table.width:
            self._cut = number, before, words
        elif self._table is not None:
            self._row(number, before, words, self._table)
        elif self._last is not None and self._fits(words, self._last):
            self._table = self._last
            if self._own not in (None, self._reports[-1].stamp) and self._reports[-1].disks:
                self._begin(number, before)
            self._reports[-1] = replace(self._reports[-1], listed=True)
            self._row(number, before, words, self._table)
        else:
            self._source.notes.skip("lines", "no reports of iostat", 1, f"line {number}: {text[:60]}")

    def _begin(self, number: int, before: str | None) -> None:
        """Another report."""
        self._reports.append(Report(self._own or before, {}, {}, f"line {number}"))
        self._seen = set()

    def _fits(self, words: list[str], table: _Table) -> bool:
        """Whether a line below a blank one or a time is a row of the last table."""
        if len(words) != table.width or table.name is None:
            return False
        cells = list(words)
        name = cells.pop(table.name)
        return (not self._devices or name in self._devices) and all(amount(cell, "") is not None for cell in cells)

    def _row(self, number: int, before: str | None, words: list[str], table: _Table) -> None:
        """Adds a row to the report, or to the next one where its device is in this one already."""
        found = _numbers(self._source, number, words, table)
        report = self._reports[-1]
        if found is None:
            lost = {words[0]} if table.name == 0 else set()
            self._reports[-1] = replace(report, listed=False, unread=report.unread | lost)
            return
        name, numbers = found
        if name is None:
            report.cpu.update(numbers)
            return
        if report.disks.get(name, {}).keys() & numbers.keys():
            again = before or (self._own if self._own != report.stamp else None)
            report = Report(again, {}, {}, f"line {number}", listed=True)
            self._reports.append(report)
        elif report.stamp is None and not report.disks:
            report = self._reports[-1] = replace(report, stamp=self._own or before)
        report.disks.setdefault(name, {}).update(numbers)
        self._devices.add(name)

    def _continues(self, words: list[str]) -> bool:
        """Whether a line goes on with the head or the row before it, which a mail program or a terminal wrapped."""
        if self._table is None:
            return False
        if self._cut is None:
            self._at_head = self._at_head and bool(words) and all(map(_is_column, words))
            if self._at_head:
                self._table.columns.extend(words)
            return self._at_head
        number, before, row = self._cut
        fits = 0 < len(words) <= self._table.width - len(row) and all(amount(word, "") is not None for word in words)
        row = [*row, *words] if fits else row
        if fits and len(row) < self._table.width:
            self._cut = number, before, row
        else:
            # What never became whole is noted.
            self._cut = None
            self._row(number, before, row, self._table)
        return fits

    def end(self) -> Iterator[Block]:
        """The samples that are left."""
        self._continues([])
        yield from self._ended()
        for host, (date, found) in self._lone.items():
            yield from self._past.noted(lone(self._source, host, date, found, self._past.until))

    def _ended(self) -> Iterator[Block]:
        reports, self._reports, self._seen = _whole(self._reports), [], set()
        command, self._command = self._command, None if reports else self._command
        if len(reports) == 1:
            # Its day is that of its own heading, not of the first one.
            stamp = reports[0].stamp or self._said
            whole = stamp if stamp is None or is_stamp(stamp) or not self._date else f"{self._date} {stamp}"
            found = self._lone.setdefault(self._host, (self._date, []))[1]
            found.append((replace(reports[0], stamp=whole), command))
        else:
            call = Call(command, self._began, self._said, self._past.until)
            yield from self._past.noted(samples(self._source, self._host, self._date, reports, call))
        self._said = None if reports else self._said


def _whole(reports: list[Report]) -> list[Report]:
    """Without the head of a report that was cut off, and without empty ones (-z) that have no time where others do."""
    if reports and not reports[-1].disks:
        reports[-1] = replace(reports[-1], listed=False)
        reports = reports if reports[-1].cpu else reports[:-1]
    timed = any(report.stamp is not None for report in reports)
    return [report for report in reports if report.disks or report.cpu or report.stamp is not None or not timed]


def _joined(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines; before version 11 a long name has one of its own, and its numbers are indented on the next."""
    name: tuple[int, str] | None = None
    for number, line in lines:
        words = line.split()
        if name is not None:
            if line[:1].isspace() and words and all(plain_number(word) is not None for word in words):
                yield number, f"{name[1]} {line}"
                name = None
                continue
            yield name
        name = (number, line) if len(words) == 1 else None
        if name is None:
            yield number, line
    if name is not None:
        yield name


@dataclass(frozen=True)
class _Table:
    """Names of the columns with numbers, and the position of the device's name: 0, -1, or None for the processor."""

    columns: list[str]
    name: int | None

    @property
    def width(self) -> int:
        """Words of a row."""
        return len(self.columns) + (self.name is not None)

    def surely_has(self, words: list[str]) -> bool:
        """Whether words are a row beyond doubt, as most lines are: nothing else has to be ruled out then."""
        numbers = len(words) == self.width and self.name != -1 and words[-1][:1].isdigit() and words[1][:1].isdigit()
        return numbers and words[0] != "Linux" and not words[0].endswith(":")


def _is_column(word: str) -> bool:
    return word in COLUMNS or word == "svctm" or word[:1] == "%" or word.endswith(("/s", "-sz"))


def _numbers(
    source: Source, number: int, words: list[str], table: _Table
) -> tuple[str | None, dict[str, float]] | None:
    """A row's device and numbers; None for what is none, which is noted."""
    cells = list(words)
    name = None if table.name is None else cells.pop(table.name)
    if name is not None and "." in name and plain_number(name) is not None:
        source.notes.skip("lines", "no name of a device", 1, f"line {number}: {' '.join(words)[:60]}")
        return None
    values: Sequence[float | None] = _plain(cells) or [
        amount(cell, column) for cell, column in zip(cells, table.columns, strict=False)
    ]
    if len(cells) != len(table.columns) or None in values:
        # Only the end of a recording may be cut: a row in the middle that does not fit is noted as well.
        example = f"line {number}: {' '.join(words)[:60]}"
        source.notes.skip("lines", "not as many numbers as the table's head", 1, example)
        return None
    return name, {column: value for column, value in zip(table.columns, values, strict=True) if value is not None}


def _plain(cells: list[str]) -> list[float] | None:
    """The numbers of a row without units; None where one is none, or has no end."""
    try:
        values = [float(cell) for cell in cells]
    except ValueError:
        return None
    return values if math.isfinite(sum(values)) else None


IMPORTER = Importer("iostat", "iostat, text (sysstat)", recognise, read, "S_TIME_FORMAT=ISO iostat -xty 1")
