"""Enhanced Monitoring of RDS: what the agent in a database's machine writes to CloudWatch Logs (`RDSOSMetrics`).

One JSON object a sample, one after the other, or as messages in an answer of `aws logs get-log-events`. Figures are of
the interval that ends at the stamp, as iostat's are; `rdsdev` is the data volume. Names and units: Amazon RDS user
guide, "OS metrics in Enhanced Monitoring". Built from the documentation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from fathom.diagnose.clock import NS, iso_ns
from fathom.diagnose.documents import items, mapping, number
from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows, Series

_REMEDY = (
    "aws logs get-log-events --log-group-name RDSOSMetrics --log-stream-name RESOURCE-ID --output json, where "
    "RESOURCE-ID is the database's (db-...)"
)
_DATA = "rdsdev"
_DISK = {
    "readIOsPS": ("read_iops", 1.0),
    "writeIOsPS": ("write_iops", 1.0),
    "readKbPS": ("read_bytes_per_s", 1024.0),
    "writeKbPS": ("write_bytes_per_s", 1024.0),
    "avgQueueLen": ("outstanding_mean", 1.0),
    "await": ("latency_s", 1e-3),
    "util": ("busy_percent", 1.0),
}
_PROCESSOR = {"total": "cpu_percent", "wait": "cpu_iowait_percent", "steal": "cpu_steal_percent"}


def recognise(head: Head) -> float:
    """The keys of a sample, in whatever quotes."""
    return 0.9 if all(name in head.text for name in ("instanceResourceID", "cpuUtilization", "diskIO")) else 0.0


def read(source: Source) -> Iterator[Block]:
    """Disk and processor of every sample."""
    samples = [_timed(source, place, each) for place, each in enumerate(_samples(source), 1)]
    ends: dict[str, list[int]] = {}
    for time, sample in samples:
        ends.setdefault(_name(sample), []).append(time)
    steps = {name: min((b - a for a, b in pairwise(sorted(set(of_one)))), default=0) / NS or None
             for name, of_one in ends.items()}  # fmt: skip
    rows = Rows()
    for time, sample in samples:
        name = _name(sample)
        source.notes.fact("cloud_service", "RDS", name)
        for what, metric in _PROCESSOR.items():
            value = number(mapping(sample.get("cpuUtilization")).get(what))
            rows.add(time, steps[name], Series(name, None, Layer.HOST, metric), value)
        for disk in items(sample, "diskIO"):
            if disk.get("device") != _DATA:
                source.notes.skip("disks", NOT_NEEDED, 1, str(disk.get("device"))[:80])
                continue
            for what, (metric, scale) in _DISK.items():
                value = number(disk.get(what))
                value = None if value is None else value * scale
                rows.add(time, steps[name], Series(None, name, Layer.CLOUD_VOLUME, metric), value)
        yield from rows.take_if()
    yield from rows.take()


def _name(sample: dict[str, Any]) -> str:
    return str(sample.get("instanceID") or "rds")


def _timed(source: Source, place: int, sample: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    text = str(sample.get("timestamp"))
    try:
        return iso_ns(text)[0], sample
    except (ValueError, OverflowError):
        raise source.error(f'"{text[:40]}" is no time', _REMEDY, entry=f"sample {place}") from None


def _samples(source: Source) -> Iterator[dict[str, Any]]:
    """Every sample of every document, out of what wraps it."""
    for document in _documents(source):
        for each in document if isinstance(document, list) else [document]:
            events = items(each, "events")
            for sample in (_message(source, event) for event in events) if events else [each]:
                if isinstance(sample, dict) and "diskIO" in sample:
                    yield sample
                else:
                    source.notes.skip("documents", "without diskIO", 1)


def _message(source: Source, event: dict[str, Any]) -> Any:
    try:
        return json.loads(str(event.get("message")))
    except (ValueError, RecursionError):
        source.notes.skip("messages", "no JSON", 1, str(event.get("message"))[:60])
        return None


def _documents(source: Source) -> Iterator[Any]:
    text, decoder, place = source.document(), json.JSONDecoder(), 0
    while True:
        while place < len(text) and text[place] in " \t\r\n,":
            place += 1
        if place >= len(text):
            return
        try:
            document, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as problem:
            line = text.count("\n", 0, place) + 1
            at = problem.pos if isinstance(problem, json.JSONDecodeError) else 0
            if at >= len(text.rstrip()) - 1 or "Unterminated" in str(problem):
                source.notes.skip("documents", "cut off: the end is missing", 1, f"line {line}")
                return
            raise source.error("no JSON", _REMEDY, line=line) from None
        yield document


IMPORTER = Importer("rds-os", "Enhanced Monitoring of RDS, JSON", recognise, read, _REMEDY)
