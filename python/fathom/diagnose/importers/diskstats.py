"""Repeated copies of /proc/diskstats with a time before or after each: recorded with a loop of `date` and
`cat`, and pt-diskstats and pt-stalk of Percona Toolkit with lines of `TS`.

The time is a line of its own: seconds since 1970 (`date +%s`, with a fraction, too) or an ISO 8601 stamp, or both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from fathom.diagnose import linux
from fathom.diagnose.clock import NS
from fathom.diagnose.counters import Differences
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.moments import Moments
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows, Series

_DATED = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*"
_EPOCH = re.compile(rf"^\D{{0,12}}?(\d{{10}})(\.\d{{1,9}})?(?:\s+{_DATED})?\s*$")
_ISO = re.compile(rf"^\D{{0,12}}?({_DATED})\s*$")
_REMEDY = "record with: while sleep 1; do date +%s.%N; cat /proc/diskstats; done"


def recognise(head: Head) -> float:
    """Two lines of diskstats near the start."""
    return 0.85 if sum(bool(linux.DISKSTATS.match(line)) for line in head.lines[:40]) >= 2 else 0.0


def read(source: Source) -> Iterator[Block]:
    """All disks that ever did anything; partitions only of disks that are not there themselves."""
    rows, disks = Rows(), Differences(linux.DISK)
    left: set[str] = set()
    for time, copy in _copies(source):
        for name, counters in copy.items():
            disk = linux.disk_of(name)
            if not linux.is_used(counters) or disk in copy:
                continue
            if disk is None and not linux.is_whole_disk(name):
                left.add(name)
                continue
            disks.add(rows, time, (None, name, Layer.GUEST_DISK), counters)
            rows.add(time, None, Series(None, name, Layer.GUEST_DISK, "outstanding"), counters.get("outstanding"))
        yield from rows.take_if()
    source.notes.skip(
        "devices", "RAM and removable media hold no data of a database", len(left), ", ".join(sorted(left)[:6])
    )
    yield from rows.take()


def _copies(source: Source) -> Iterator[tuple[int, dict[str, dict[str, float]]]]:
    """Every copy with its time. Where the log begins with disks, each copy's time follows it."""
    moments = Moments(source)
    time: int | None = None
    copy: dict[str, dict[str, float]] = {}
    before: bool | None = None
    for number, text in source.lines():
        found = linux.disk(text)
        if found is not None:
            before = time is not None if before is None else before
            copy[found[0]] = found[1]
            continue
        seen = _time(moments, number, text)
        if seen is None:
            if text.strip():
                source.notes.skip("lines", "neither a time nor a line of /proc/diskstats", 1, f"line {number}")
            continue
        whose = time if before else seen
        if copy and whose is not None:
            yield whose, copy
            copy = {}
        time = seen
    if copy and before and time is not None:
        yield time, copy
    elif copy and time is None:
        raise source.error("no time beside the copies", _REMEDY, line=number)
    elif copy:
        source.notes.skip("copies", "the log ends within one")


def _time(moments: Moments, number: int, text: str) -> int | None:
    epoch = _EPOCH.match(text)
    if epoch:
        return int(Decimal(epoch[1] + (epoch[2] or "")) * NS)
    stamp = _ISO.match(text)
    return moments.time(number, stamp[1]) if stamp else None


IMPORTER = Importer(
    "diskstats",
    "copies of /proc/diskstats with times",
    recognise,
    read,
    _REMEDY.removeprefix("record with: "),
    looks=True,
)
