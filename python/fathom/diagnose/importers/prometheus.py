"""Answers of Prometheus's API: raw series of `/api/v1/query_range`, or of `/api/v1/query` with a range.

Rates that were computed by a query have no name and cannot be understood: query the counters themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fathom.diagnose.documents import items, number, parsed
from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.importer import Importer
from fathom.diagnose.prometheus import Scrapes, moment
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows

_REMEDY = "query raw series: curl 'http://HOST:9090/api/v1/query?query={__name__=~\"node_disk_.*\"}[1h]'"


def recognise(head: Head) -> float:
    """The frame of an answer."""
    text = head.text
    known = text.lstrip().startswith("{") and '"resultType"' in text and '"result"' in text
    return 0.95 if known else 0.0


def read(source: Source) -> Iterator[Block]:
    """All series that are in the table."""
    document = parsed(source, _REMEDY)
    status = document.get("status") if isinstance(document, dict) else None
    if status == "error":
        raise source.error(f"the query failed: {str(document.get('error'))[:200]}", _REMEDY, entry="status")
    data = document.get("data") if isinstance(document, dict) else None
    by_time: dict[int, list[tuple[str, dict[str, str], float | None]]] = {}
    for place, line in enumerate(items(data, "result"), 1):
        labels = line.get("metric")
        labels = {str(key): str(value) for key, value in labels.items()} if isinstance(labels, dict) else {}
        name = labels.get("__name__", "")
        points = line.get("values")
        if not isinstance(points, list):
            points = [line.get("value")]
        for point in points:
            time, value = _point(source, point, f"result {place}")
            by_time.setdefault(time, []).append((name, labels, value))
    rows, scrapes, unknown = Rows(), Scrapes(), set[str]()
    for time in sorted(by_time):
        for name, labels, value in by_time[time]:
            if not scrapes.value(rows, time, name, labels, value):
                unknown.add(name)
        scrapes.end(rows, time)
        yield from rows.take_if()
    if unknown == {""}:
        raise source.error(
            "the query computed its series (rate, sum, ...), so they have no names", _REMEDY, entry="result"
        )
    source.notes.skip("metrics", NOT_NEEDED, len(unknown), max(unknown, default=None))
    yield from rows.take()


def _point(source: Source, point: Any, entry: str) -> tuple[int, float | None]:
    seconds = number(point[0]) if isinstance(point, list) and len(point) == 2 else None
    if seconds is None or not 0 <= seconds < 1e10:
        raise source.error(f"{str(point)[:40]} is no pair of time and value", _REMEDY, entry=entry)
    return moment(seconds), number(point[1])


IMPORTER = Importer("prometheus", "Prometheus, answer of the API as JSON", recognise, read)
