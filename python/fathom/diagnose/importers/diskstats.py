"""Repeated copies of /proc/diskstats with a time before each: what people record with a loop of `date` and `cat`.

The time is a line of its own: seconds since 1970 (`date +%s`, with a fraction, too) or an ISO 8601 stamp.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

import polars as pl

from fathom.diagnose import linux
from fathom.diagnose.clock import NS
from fathom.diagnose.counters import Differences
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.moments import Moments
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Rows, Series

_EPOCH = re.compile(r"^\D{0,12}?(\d{10})(\.\d{1,9})?\s*$")
_ISO = re.compile(r"^\D{0,12}?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*)\s*$")


def recognise(head: Head) -> float:
    """Two lines of diskstats near the start."""
    return 0.85 if sum(bool(linux.DISKSTATS.match(line)) for line in head.lines[:40]) >= 2 else 0.0


def read(source: Source) -> Iterator[pl.DataFrame]:
    """All disks that are no partitions."""
    rows, moments, disks = Rows(), Moments(source), Differences(linux.DISK)
    time: int | None = None
    for number, text in source.lines():
        found = linux.disk(text)
        if found is None:
            seen = _time(moments, number, text)
            if seen is not None:
                time = seen
            elif text.strip():
                source.told.skip("lines", "neither a time nor a line of /proc/diskstats", 1, f"line {number}")
            continue
        if time is None:
            raise source.error(
                "no time before the first disk",
                "record with: while sleep 1; do date +%s.%N; cat /proc/diskstats; done",
                line=number,
            )
        name, counters = found
        if not linux.is_whole_disk(name):
            continue
        disks.add(rows, time, (None, name, Layer.GUEST_DISK), counters)
        rows.add(time, None, Series(None, name, Layer.GUEST_DISK, "outstanding"), counters.get("outstanding"))
        yield from rows.take_if()
    yield rows.take()


def _time(moments: Moments, number: int, text: str) -> int | None:
    epoch = _EPOCH.match(text)
    if epoch:
        return int(Decimal(epoch[1] + (epoch[2] or "")) * NS)
    stamp = _ISO.match(text)
    return moments.times([(number, stamp[1])])[0] if stamp else None


IMPORTER = Importer(
    "diskstats",
    "copies of /proc/diskstats with times",
    recognise,
    read,
    "while sleep 1; do date +%s.%N; cat /proc/diskstats; done",
)
