"""CloudWatch as CSV, as the console downloads a graph: lines about the columns, then one line per period.

The lines before the first time (label, statistic, period, dimensions) are taken together as what is known of each
column, in whatever order they stand.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

import polars as pl

from fathom.diagnose import cloudwatch
from fathom.diagnose.importer import Importer
from fathom.diagnose.moments import Moments
from fathom.diagnose.numbers import plain_number
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Rows

_TIME = re.compile(r'^"?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d')
_PERIODS = {"period", "period (seconds)"}


def recognise(head: Head) -> float:
    """Names of CloudWatch's metrics in lines above a line with a time."""
    lines = head.lines
    first = next((place for place, line in enumerate(lines) if _TIME.match(line)), None)
    if not first or "," not in lines[first]:
        return 0.0
    return 0.9 if any(cloudwatch.known(line) for line in lines[:first]) else 0.0


def read(source: Source) -> Iterator[pl.DataFrame]:
    """All columns that are metrics of the table; times are UTC unless the user says otherwise."""
    heads: list[list[str]] = []
    stamps: list[tuple[int, str]] = []
    values: list[list[float | None]] = []
    for number, text in source.lines():
        try:
            cells = next(csv.reader([text]))
        except (csv.Error, StopIteration):
            continue
        if not _TIME.match(text):
            if any(cells):
                heads.append([cell.strip() for cell in cells])
            continue
        stamps.append((number, cells[0]))
        values.append([plain_number(cell.strip()) for cell in cells[1:]])
    times = Moments(source, utc=source.zone is None).times(stamps)
    lines = []
    for column in range(1, max((len(row) for row in heads), default=0)):
        told = {row[0].casefold(): row[column] for row in heads if len(row) > column}
        points = [(time, row[column - 1]) for time, row in zip(times, values, strict=True) if len(row) >= column]
        period = next((plain_number(text) for name, text in told.items() if name in _PERIODS), None)
        lines.append(cloudwatch.Line(" ".join(told.values()), told.get("statistic"), points, period or None))
    rows = Rows()
    cloudwatch.add(source, rows, lines)
    yield rows.take()


IMPORTER = Importer("cloudwatch-csv", "AWS CloudWatch, CSV of the console", recognise, read)
