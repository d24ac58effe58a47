"""`iostat -x -t` as text, of any version since 2010; also without `-x`. The heading gives the host, `-t` the times."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from fathom.diagnose.importer import Importer
from fathom.diagnose.iostat import Report, samples
from fathom.diagnose.numbers import plain_number
from fathom.diagnose.source import Head, Source

HEADING = re.compile(r"^(Linux) (\S+) \((.*)\)\s+(\S+)\s+_?(\S*?)_?\s*\((\d+) CPU\)\s*$")
_DEVICES = re.compile(r"^Device:?\s+\S")
_STAMP = re.compile(r"^(\d{1,4}[-/.]\d\d[-/.]\d{2,4}|\d{4}-\d\d-\d\dT)\S*(\s+\d\d:\d\d:\d\d(\s*[AP]M)?)?$|^Time: ")


def recognise(head: Head) -> float:
    """A table of devices with iostat's columns."""
    tables = any(_DEVICES.match(line) and ("/s" in line or "tps" in line) for line in head.lines)
    return 0.9 if tables else 0.0


def read(source: Source) -> Iterator[pl.DataFrame]:
    """All reports; a recording that was started again begins anew below the second heading."""
    host, date = None, None
    reports: list[Report] = []
    stamp: str | None = None
    columns: list[str] | None = None
    kind = ""
    for number, line in source.lines():
        text = line.strip()
        heading = HEADING.match(text)
        if heading:
            yield from samples(source, host, date, reports)
            reports, host, date = [], heading[3], heading[4]
            source.told.fact("os", f"{heading[1]} {heading[2]}", host)
            source.told.fact("cpus", heading[6], host)
        elif not text:
            columns = None
        elif _STAMP.match(text):
            stamp = text.removeprefix("Time: ")
            columns = None
        elif text.startswith("avg-cpu:"):
            reports.append(Report(stamp, {}, {}, f"line {number}"))
            columns, kind = [name.lstrip("%") for name in text.split()[1:]], "cpu"
        elif _DEVICES.match(text):
            # With -d there is no line of the processor: the table of devices begins the report.
            if not reports or reports[-1].disks:
                reports.append(Report(stamp, {}, {}, f"line {number}"))
            columns, kind = text.split()[1:], "disk"
        elif columns is not None:
            _row(source, number, text, columns, kind, reports[-1])
        else:
            source.told.skip("lines", "no reports of iostat", 1, f"line {number}: {text[:60]}")
    yield from samples(source, host, date, reports)


def _row(source: Source, number: int, text: str, columns: list[str], kind: str, report: Report) -> None:
    cells = text.split()
    name = cells.pop(0) if kind == "disk" else None
    values = [plain_number(cell) for cell in cells]
    if len(values) != len(columns) or any(value is None for value in values):
        # Only the end of a recording may be cut: a row in the middle that does not fit is told as well.
        source.told.skip("lines", "not as many numbers as the table's head", 1, f"line {number}: {text[:60]}")
        return
    numbers = {column: value for column, value in zip(columns, values, strict=True) if value is not None}
    if name is None:
        report.cpu.update(numbers)
    else:
        report.disks[name] = numbers


IMPORTER = Importer("iostat", "iostat, text (sysstat)", recognise, read, "S_TIME_FORMAT=ISO iostat -xty 1")
