"""CloudWatch as CSV, as the console downloads a graph: lines about the columns, then one line per period.

The lines before the first time (label, statistic, period, dimensions) are taken together as what is known of each
column, in any order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fathom.diagnose import chart_csv, cloudwatch
from fathom.diagnose.importer import Importer
from fathom.diagnose.numbers import plain_number
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows

_TIME = re.compile(r'^"?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d')
_PERIODS = {"period", "period (seconds)"}
_NO_NAMES = {"id", "region", "statistic", *_PERIODS}
"""Lines that tell nothing of the resource."""


def recognise(head: Head) -> float:
    """Names of CloudWatch's metrics in lines above a line with a time."""
    lines = head.lines
    first = next((place for place, line in enumerate(lines) if _TIME.match(line)), None)
    if not first or "," not in lines[first]:
        return 0.0
    return 0.9 if any(cloudwatch.known(line) for line in lines[:first]) else 0.0


def read(source: Source) -> Iterator[Block]:
    """All columns that are metrics of the table; times are UTC unless the user says otherwise."""
    chart = chart_csv.read(source, _TIME, plain_number)
    heads = [cells for _, cells in chart.heads]
    moments = list(zip(chart.times, chart.rows, strict=True))
    lines = []
    for column in range(1, max((len(row) for row in heads), default=0)):
        notes = {row[0].casefold(): row[column] for row in heads if len(row) > column}
        points = [(time, row[column - 1]) for time, row in moments if len(row) >= column]
        period = next((plain_number(text) for name, text in notes.items() if name in _PERIODS), None)
        label = " ".join(text for name, text in notes.items() if name not in _NO_NAMES)
        lines.append(cloudwatch.Line(label, notes.get("statistic"), points, period or None, notes.get("id", "")))
    rows = Rows()
    cloudwatch.add(source, rows, lines)
    yield from rows.take()


IMPORTER = Importer("cloudwatch-csv", "AWS CloudWatch, CSV of the console", recognise, read)
