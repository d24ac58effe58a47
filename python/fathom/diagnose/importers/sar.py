"""Text of `sar`, and the semicolon tables of `sadf -d`: blocks of lines with a header that names their columns.

sar prints local times without a date; the heading has the date, which advances by a day where the time goes back.
Posts often lack the heading: then the day is that of `--start`. sadf prints whole stamps, in UTC unless `-t` or `-T`
was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fathom.diagnose import sysstat
from fathom.diagnose.clock import NS, zone_of
from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.importer import Importer
from fathom.diagnose.importers.iostat import heading_of
from fathom.diagnose.iostat import amount, digits_only, stamps
from fathom.diagnose.metrics import Layer
from fathom.diagnose.moments import Moments
from fathom.diagnose.numbers import plain_number
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows, Series

_TIME = re.compile(r"^(\d\d)[:.](\d\d)[:.](\d\d)(?:\s+([AP]M))?\s+(.*)$")
_OF_PROGRAMS = re.compile(r"\bPID\b.*\bCommand[ \t]*$", re.M)
"""Columns of pidstat, which has sar's heading and times."""
_MEANS = re.compile(r"^[^\W\d]+\.? ?[:\uff1a] ")
"""The word before means over the whole log, in any language: `Average:`, `Durchschn.:`, `Moyenne :`."""
_DAY_S = 86_400
_LEFT_OUT = re.compile(r"\W*(?:\.{2,}|\u2026)\W*|\[(?:\.{3}|\u2026|snip)\]")
"""A line for lines that whoever posted the log left out."""
_BLOCKS = (
    {"DEV", "tps"}, {"CPU", "%idle"}, {"IFACE", "rxpck/s"}, {"runq-sz", "plist-sz"}, {"pgpgin/s", "pgpgout/s"},
    {"pswpin/s", "pswpout/s"}, {"tps", "rtps", "wtps"}, {"kbmemfree", "kbmemused"}, {"proc/s", "cswch/s"},
)  # fmt: skip
"""Columns that tell sar's blocks where the heading is missing; sar of other systems has %usr without CPU."""


def recognise(head: Head) -> float:
    """Sar's heading and a block of its columns, or sadf's line of names."""
    lines = head.lines
    if any(line.startswith("# hostname;interval;timestamp") for line in lines[:3]):
        return 0.95
    heads = [set(found[5].split()) for line in lines if (found := _timed(line)) and _is_head(found[5].split())]
    if not heads or _OF_PROGRAMS.search(head.text):
        return 0.0
    if any(heading_of(line) for line in lines[:3]):
        return 0.9
    return 0.8 if any(block <= cells for block in _BLOCKS for cells in heads) else 0.0


def read(source: Source) -> Iterator[Block]:
    """All blocks that are in the table."""
    head = source.head()
    if head.text.lstrip("\ufeff").startswith("# hostname;"):
        yield from _sadf(source)
    else:
        yield from _sar(source)


@dataclass
class _Line:
    number: int
    second: int
    columns: list[str]
    cells: list[str]
    part: int
    """Of the parts between which lines were left out."""


def _timed(line: str) -> re.Match[str] | None:
    return _TIME.match(digits_only(line.strip()))


def _sar(source: Source) -> Iterator[Block]:
    host, date, columns, part = None, "", list[str](), 0
    lines: list[_Line] = []
    for number, text in source.lines():
        heading = heading_of(text)
        if heading:
            if lines and not date:
                host, date = heading[3], heading[4]
                source.notes.fact("clock", "the first times have no date: read as of the day of the heading below them")
            yield from _block(source, host, date, lines)
            lines, host, date = [], heading[3], heading[4]
            source.notes.fact("os", f"{heading[1]} {heading[2]}", host)
            if heading[6]:
                source.notes.fact("cpus", heading[6], host)
            continue
        found = _timed(text)
        if not found:
            part += _LEFT_OUT.fullmatch(text.strip()) is not None
            if text.strip() and not _MEANS.match(text.strip()):
                source.notes.skip("lines", "no samples of sar", 1, f"line {number}: {text[:60]}")
            continue
        cells = found[5].split()
        if _is_head(cells):
            columns = cells
            continue
        hour = int(found[1]) % 12 + (12 if found[4] == "PM" else 0) if found[4] else int(found[1])
        second = hour * 3600 + int(found[2]) * 60 + int(found[3])
        lines.append(_Line(number, second, columns, cells, part))
    yield from _block(source, host, date, lines)


def _is_head(cells: list[str]) -> bool:
    # Before version 8 a block may have one column only: `proc/s`.
    return bool(cells) and all(amount(cell, "") is None for cell in cells)


def _midnight(source: Source, date: str) -> int:
    """Of the heading's day; without a heading of the day of --start."""
    if date:
        return int(stamps(source, [f"{date} 00:00:00" if "T" not in date else date], [f"heading {date}"], date)[0])
    if source.start_ns is None:
        source.notes.fact(
            "clock", "the times have no date (sar without its heading): read as of 1970; --start is better"
        )
        return 0
    source.notes.fact("clock", "the times have no date (sar without its heading): read as of the day of --start")
    day = source.start_ns // (_DAY_S * NS)
    found = zone_of(source).utc(np.arange(day - 1, day + 2, dtype=np.int64) * _DAY_S * NS)
    return int(found[found <= source.start_ns].max())


def _block(source: Source, host: str | None, date: str, lines: list[_Line]) -> Iterator[Block]:
    if not lines:
        return
    midnight = _midnight(source, date)
    rows = Rows()
    # Every block of columns runs through the whole day by itself.
    before: dict[tuple[str, ...], tuple[int, _Line]] = {}
    steps: dict[tuple[str, ...], float | None] = {}
    for line in lines:
        key = tuple(line.columns)
        day, last = before.get(key, (0, line))
        day += line.second < last.second
        if line.second != last.second and line.part == last.part:
            steps[key] = float((line.second - last.second) % _DAY_S)
        before[key] = (day, line)
        time = midnight + (day * _DAY_S + line.second) * NS
        _add(source, rows, time, steps.get(key), host, line)
        yield from rows.take_if()
    yield from rows.take()


def _sadf(source: Source) -> Iterator[Block]:
    columns: list[str] = []
    rows, moments = Rows(), Moments(source)
    for number, text in source.lines():
        cells = text.split(";")
        if text.startswith("# "):
            columns = cells[3:]
            continue
        if len(cells) != len(columns) + 3:
            if text.strip():
                source.notes.skip("lines", "not as many cells as their head", 1, f"line {number}: {text[:60]}")
            continue
        time = _moment(moments, number, cells[2])
        _add(source, rows, time, plain_number(cells[1]) or None, cells[0], _Line(number, 0, columns, cells[3:], 0))
        yield from rows.take_if()
    yield from rows.take()


def _moment(moments: Moments, line: int, stamp: str) -> int:
    """With -U sadf prints seconds since 1970; names of zones (-t) say too little, and are left to --time-zone."""
    if re.fullmatch(r"\d{9,11}", stamp):
        return int(stamp) * NS
    local = re.sub(r" (?!UTC$)[A-Z]{2,5}$", "", stamp)
    return moments.time(line, local)


def _add(source: Source, rows: Rows, time: int, seconds: float | None, host: str | None, line: _Line) -> None:
    if len(line.cells) != len(line.columns):
        source.notes.skip("lines", "not as many numbers as their head", 1, f"line {line.number}")
        if line.columns[0] == "DEV" and len(line.cells) > 1:
            rows.add(time, seconds, Series(host, line.cells[0], Layer.GUEST_DISK, "iops"), None)
        return
    given = dict(zip(line.columns, line.cells, strict=True))
    values = {sysstat.short(name): value for name, cell in given.items() if (value := amount(cell, name)) is not None}
    if "DEV" in given:
        sysstat.add_disk(rows, time, seconds, host, given["DEV"], values)
    elif "IFACE" in given:
        sysstat.add_network(rows, time, seconds, host, given["IFACE"], values)
    elif given.get("CPU", "all") in {"all", "-1"}:
        before = len(rows)
        sysstat.add_host(rows, time, seconds, host, values)
        if len(rows) == before:
            source.notes.skip("rows", NOT_NEEDED, 1, " ".join(line.columns)[:60])


IMPORTER = Importer("sar", "sar, text, or sadf -d (sysstat)", recognise, read, "sar -dubrqBW 1")
