"""CloudWatch as JSON: `aws cloudwatch get-metric-statistics` and `get-metric-data`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fathom.diagnose import cloudwatch
from fathom.diagnose.clock import iso_ns
from fathom.diagnose.documents import items, mapping, number, parsed
from fathom.diagnose.importer import Importer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows

_REMEDY = "`fathom record --print aws` shows the commands"
_STATISTICS = ("Sum", "Average", "Maximum", "Minimum", "SampleCount")
_EXTENDED = "ExtendedStatistics"
"""Where percentiles are (GetMetricStatistics, API reference: `Datapoint`)."""


def recognise(head: Head) -> float:
    """The keys of either answer."""
    if not head.text.lstrip().startswith("{"):
        return 0.0
    return 0.9 if '"Datapoints"' in head.text or '"MetricDataResults"' in head.text else 0.0


def read(source: Source) -> Iterator[Block]:
    """All metrics of the answer."""
    document = parsed(source, _REMEDY)
    if not (isinstance(document, dict) and document.keys() & {"Datapoints", "MetricDataResults"}):
        raise source.error("neither Datapoints nor MetricDataResults in it", _REMEDY, line=1)
    lines = [*_statistics(source, document), *_data(source, document)]
    empty = [line.label for line in lines if not line.points] or ([] if lines else [str(document.get("Label") or "")])
    if empty:
        source.notes.skip("metrics", "no data points: the volume may not have them", len(empty), empty[0])
    rows = Rows()
    cloudwatch.add(source, rows, [line for line in lines if line.points])
    yield from rows.take()


def _statistics(source: Source, document: Any) -> list[cloudwatch.Line]:
    points = [{**point, **mapping(point.get(_EXTENDED))} for point in items(document, "Datapoints")]
    label = str(document.get("Label") or "") if isinstance(document, dict) else ""
    percentiles = {name for point in items(document, "Datapoints") for name in mapping(point.get(_EXTENDED))}
    return [
        cloudwatch.Line(label, name, [(_time(source, point), number(point[name])) for point in points if name in point])
        for name in (*_STATISTICS, *sorted(percentiles))
        if any(name in point for point in points)
    ]


def _time(source: Source, point: dict[str, Any]) -> int:
    return _stamp(source, point.get("Timestamp"), "Datapoints")


def _data(source: Source, document: Any) -> list[cloudwatch.Line]:
    found = []
    for place, result in enumerate(items(document, "MetricDataResults"), 1):
        times, values = result.get("Timestamps") or [], result.get("Values") or []
        if not isinstance(times, list) or not isinstance(values, list) or len(times) != len(values):
            raise source.error("not as many values as times", _REMEDY, entry=f"MetricDataResults {place}")
        points = [
            (_stamp(source, time, f"MetricDataResults {place}"), number(value))
            for time, value in zip(times, values, strict=True)
        ]
        label, name = (str(result.get(key) or "") for key in ("Label", "Id"))
        found.append(cloudwatch.Line(label, None, points, id=name))
    return found


def _stamp(source: Source, value: Any, entry: str) -> int:
    try:
        return iso_ns(value)[0] if isinstance(value, str) else round(float(value) * 1e9)
    except (ValueError, TypeError, OverflowError):
        raise source.error(f'"{str(value)[:40]}" is no time', _REMEDY, entry=entry) from None


IMPORTER = Importer(
    "cloudwatch", "AWS CloudWatch, JSON of the command line", recognise, read, "fathom record --print aws"
)
