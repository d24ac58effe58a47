"""Azure Monitor as JSON: `az monitor metrics list`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fathom.diagnose import azure
from fathom.diagnose.clock import NS, iso_ns
from fathom.diagnose.documents import items, number, parsed
from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.importer import Importer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows

_GROUP = re.compile(r"/resourceGroups/([^/]+)/", re.I)
_OTHERS = ("maximum", "minimum", "total", "count")
"""Aggregations that are not how it was (Azure Monitor, REST reference: `MetricValue`)."""
_REMEDY = "`fathom record --print azure` shows the commands"


def recognise(head: Head) -> float:
    """The keys of the answer, for other resources than database services."""
    if azure.of_database(head.text):
        return 0.0
    return 0.9 if head.text.lstrip().startswith("{") and '"timeseries"' in head.text else 0.0


def read(source: Source) -> Iterator[Block]:
    """Averages of all metrics that are in the table."""
    document = parsed(source, _REMEDY)
    metrics = items(document, "value")
    if not metrics:
        raise source.error('no "value" with metrics in it', _REMEDY, line=1)
    rows = Rows()
    for metric in metrics:
        name = metric.get("name")
        names = " ".join(str(text) for text in name.values()) if isinstance(name, dict) else str(name)
        known = azure.metric_in(names)
        resource = str(metric.get("id") or "").partition("/providers/Microsoft.Insights")[0]
        host = resource.rstrip("/").rpartition("/")[2] or None
        group = _GROUP.search(resource)
        source.notes.fact("resource_group", group[1] if group else None, host)
        for line in items(metric, "timeseries"):
            label = " ".join(
                f"{(entry.get('name') or {}).get('value')} {entry.get('value')}"
                for entry in items(line, "metadatavalues")
                if isinstance(entry.get("name") or {}, dict)
            )
            found = None if known is None else azure.series(known, label, host, "/disks/" in resource.casefold())
            if found is None:
                source.notes.skip("metrics", NOT_NEEDED, 1, names[:80])
                continue
            data = items(line, "data")
            given = next((name for name in _OTHERS if any(name in point for point in data)), None)
            if given is not None and all("average" not in point for point in data):
                why = f"their {given} is no use; export their average (--aggregation Average)"
                source.notes.skip("metrics", why, 1, names[:80])
                continue
            _points(source, rows, found, data)
            yield from rows.take_if()
    yield from rows.take()


def _points(source: Source, rows: Rows, found: tuple[Any, float, bool], points: list[dict[str, Any]]) -> None:
    series, scale, inverted = found
    times = []
    for point in points:
        try:
            times.append(iso_ns(str(point.get("timeStamp")))[0])
        except ValueError:
            problem = f'"{str(point.get("timeStamp"))[:40]}" is no time'
            raise source.error(problem, _REMEDY, entry=f"data of {series.metric}") from None
    steps = [after - before for before, after in zip(sorted(times), sorted(times)[1:], strict=False) if after > before]
    period = min(steps) / NS if steps else None
    for time, point in zip(times, points, strict=True):
        value = number(point.get("average"))
        value = value if value is None else 100.0 - value if inverted else value * scale
        # The stamp is the start of the interval.
        rows.add(time + round((period or 0) * NS), period, series, value)


IMPORTER = Importer("azure", "Azure Monitor, JSON of the command line", recognise, read, "fathom record --print azure")
