"""Message 833 of SQL Server's error log: requests that took over 15 s, on which file and when.

Microsoft, MSSQLSERVER_833: the server looks every five minutes at most, and tells how many there were since.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fathom.diagnose.clock import NS, ns_of, zone_of

if TYPE_CHECKING:
    from fathom.diagnose.source import Source

_MOST_LINES, _MOST = 1_000_000, 50
"""Lines that are looked at, and messages that are kept: the last ones."""
_COUNTED = r"(\d+) (?:occurrence\(s\) of I/O requests taking longer than|Vorkommen von E/A-Anforderungen)"
_MESSAGE = re.compile(_COUNTED + r"(?:[^\[]*\[([^\]]+)\])?")
_STAMP = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d\d):(\d\d):(\d\d)")
_ADJUSTED = re.compile(r"UTC adjustment: ([+-]?)(\d{1,2}):(\d\d)")


class LongRequests(NamedTuple):
    """A message: the file, how many requests there were, and when it was written; None where it has no time."""

    file: str
    requests: int
    at_ns: int | None


def note_long_requests(source: Source) -> None:
    """Notes the messages of a log that is not read for samples as facts of their files."""
    found, offset = _found(source.lines())
    if not found:
        return
    if offset is not None:
        minutes = int(offset.total_seconds() // 60)
        source.notes.fact("time_zone", f"{minutes:+} min from UTC (UTC adjustment)")
    for file, count, local in found:
        if local is None:
            source.notes.fact("long_requests", str(count), file)
            continue
        utc_ns = ns_of(local - offset) if offset is not None else _utc_ns(source, local)
        at = datetime.fromtimestamp(utc_ns // NS, UTC)
        source.notes.fact("long_requests", f"{count} at {at:%Y-%m-%dT%H:%M:%SZ}", file)


def read_fact(value: str, file: str | None) -> LongRequests:
    """The message of a fact."""
    count, _, at = value.partition(" at ")
    return LongRequests(file or "", int(count), ns_of(datetime.fromisoformat(at)) if at else None)


def _utc_ns(source: Source, local: datetime) -> int:
    return int(zone_of(source).utc(np.array([ns_of(local)], dtype=np.int64))[0])


def _found(lines: Iterable[tuple[int, str]]) -> tuple[list[tuple[str, int, datetime | None]], timedelta | None]:
    """File, number and local time of each message, and how far the log's times are from UTC."""
    found: list[tuple[str, int, datetime | None]] = []
    offset = None
    for line in _whole(line for _, line in islice(lines, _MOST_LINES)):
        if adjusted := _ADJUSTED.search(line):
            offset = timedelta(hours=int(adjusted[2]), minutes=int(adjusted[3])) * (-1 if adjusted[1] == "-" else 1)
        message = _MESSAGE.search(line)
        if message is not None and message[2]:
            found.append((message[2], int(message[1]), _time(line)))
    return found[-_MOST:], offset


def _whole(lines: Iterable[str]) -> Iterator[str]:
    """Lines; of a message that was wrapped before its file both together."""
    before = None
    for line in lines:
        joined = line if before is None else f"{before} {line}"
        message = _MESSAGE.search(joined)
        if message is not None and message[2] is None and before is None:
            before = line
            continue
        before = None
        yield joined


def _time(line: str) -> datetime | None:
    stamp = _STAMP.search(line)
    try:
        return None if stamp is None else datetime(*map(int, stamp.groups()), tzinfo=UTC)  # type: ignore[arg-type,misc]
    except ValueError:
        return None
