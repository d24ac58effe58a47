"""Azure Monitor as CSV, as the portal downloads a chart: facts, a line of names, then one line per interval.

Names hold metric, aggregation, resource and, split by disk, the LUN: `Data Disk Queue Depth (Avg), sql1, LUN = 2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from fathom.diagnose import azure, chart_csv
from fathom.diagnose.clock import NS
from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.importer import Importer
from fathom.diagnose.numbers import plain_number
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows

_TIME = re.compile(r'^"?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d{1,2}/\d{1,2}/\d{4},? \d{1,2}:\d\d)')
_RESOURCE = re.compile(r"^(?:Resource|Title|Name)s?[,:]\s*\"?([^,\"]+)", re.I)


def recognise(head: Head) -> float:
    """Names of Azure's metrics above a line with a time."""
    lines = head.lines
    first = next((place for place, line in enumerate(lines) if _TIME.match(line)), None)
    return 0.85 if first and any(azure.metric_in(line) for line in lines[:first]) else 0.0


def read(source: Source) -> Iterator[Block]:
    """All columns that are in the table; the portal writes UTC unless configured otherwise."""
    names: list[str] = []
    host: str | None = None
    chart = chart_csv.read(source, _TIME, lambda cell: plain_number(cell.rstrip("%")))
    for text, cells in chart.heads:
        if len(cells) > 1 and any(azure.metric_in(cell) for cell in cells):
            names = cells
        elif (found := _RESOURCE.match(text)) and host is None:
            host = found[1].strip()
    steps = [after - before for before, after in pairwise(chart.times) if after > before]
    period = min(steps) / NS if steps else None
    rows = Rows()
    for column, name in enumerate(names[1:]):
        known = azure.metric_in(name)
        found_series = None if known is None else azure.series(known, name, host, resource_is_disk=False)
        if found_series is None:
            source.notes.skip("columns", NOT_NEEDED, 1, name[:80])
            continue
        series, scale, inverted = found_series
        for time, row in zip(chart.times, chart.rows, strict=True):
            value = row[column] if column < len(row) else None
            value = value if value is None else 100.0 - value if inverted else value * scale
            rows.add(time + round((period or 0) * NS), period, series, value)
    yield from rows.take()


IMPORTER = Importer("azure-csv", "Azure Monitor, CSV of the portal", recognise, read)
