"""CSV of a chart from a cloud's console: lines about the columns, then one line per interval, its time first."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from fathom.diagnose.moments import Moments
from fathom.diagnose.source import Source

_UNIT = re.compile(r"[+-]?\d[\d.,]*(?:\s+[^\W\d_][\w/%]*|\s?%)")
"""A number with its unit, as Grafana writes formatted data: rounded, and scaled as it liked (Grafana documentation,
"Panel inspect view", data options).
"""


@dataclass(frozen=True)
class ChartCsv:
    """Heads are (line, its cells); times are in ns of UTC, one for each row; a row holds the cells after its time."""

    heads: list[tuple[str, list[str]]] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    rows: list[list[float | None]] = field(default_factory=list)


def read(source: Source, time: re.Pattern[str], number: Callable[[str], float | None]) -> ChartCsv:
    """A whole file. A line that `time` matches is a row, whose cells `number` reads; times without a zone are UTC."""
    found = ChartCsv()
    stamps: list[tuple[int, str]] = []
    for line, text in source.lines():
        try:
            cells = next(csv.reader([text]))
        except (csv.Error, StopIteration):
            continue
        if time.match(text):
            stamps.append((line, cells[0]))
            values = [number(cell.strip()) for cell in cells[1:]]
            for value, cell in zip(values, cells[1:], strict=True):
                if value is None and _UNIT.fullmatch(cell.strip()):
                    raise source.error(
                        f'"{cell.strip()[:40]}" has a unit: these values were rounded for the eye',
                        "export plain numbers; in Grafana: Inspect, Data, Data options: Formatted data off",
                        line=line,
                    )
            found.rows.append(values)
        elif any(cells):
            found.heads.append((text, [cell.strip() for cell in cells]))
    found.times.extend(Moments(source, utc=source.zone is None).times(stamps))
    return found
