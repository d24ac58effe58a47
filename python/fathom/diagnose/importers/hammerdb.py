"""HammerDB: the transaction counter (`hdbtcount.log`) and the log of virtual users (`hammerdb.log`).

The counter has lines `60501 SQL Server tpm @ Fri Jan 18 12:15:37 MST 2019`; the log has results per test and, where
time stamps are on, the time of each line before or after it. Names of zones are not unique: all but UTC are
local times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

import numpy as np

from fathom.diagnose.clock import NS, ns_of, start_of, zone_of
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows, Series

_STAMP = r"(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) ([A-Z+\-\d]{2,6}) (\d{4})"
_COUNT = re.compile(
    rf"^(?:Vuser \d+:)?(\d+) (MSSQLServer|SQL Server|Oracle|Db2|MySQL|MariaDB|PostgreSQL|Redis) tpm(?: @ {_STAMP})?\s*$"
)
_RESULT = re.compile(r"TEST RESULT : System achieved (\d+) (?:NOPM from (\d+) .+ TPM|.+ TPM at (\d+) NOPM)")
_TIMESTAMP = re.compile(rf"^(?:Timestamp \d+|Hammerdb Log) @ {_STAMP}")
_PERIOD = re.compile(r"(?:Timing test|Test) period of (\d{1,5}) in minutes")
_USERS = re.compile(r"(\d{1,6}) Active Virtual Users configured")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def recognise(head: Head) -> float:
    """Lines of the counter, results, or the heading of either file."""
    lines = head.lines
    if any(line.startswith(("Hammerdb Transaction Counter Log", "Hammerdb Log")) for line in lines[:5]):
        return 0.95
    return 0.9 if any(_COUNT.match(line) or _RESULT.search(line) for line in lines) else 0.0


def read(source: Source) -> Iterator[Block]:
    """Transactions per second over time, and the results of tests."""
    counts: list[tuple[int | None, float]] = []
    results: list[tuple[int | None, float, float, float | None]] = []
    stamp: int | None = None
    minutes: float | None = None
    for number, text in source.lines():
        if found := _COUNT.match(text):
            own = None if found[3] is None else _stamp(source, number, found.groups()[2:])
            counts.append((own, float(found[1][:15]) / 60))
            source.notes.fact("benchmark", f"HammerDB on {found[2]}")
        elif found := _TIMESTAMP.match(text):
            stamp = _stamp(source, number, found.groups())
        elif found := _PERIOD.search(text):
            minutes = float(found[1])
        elif found := _USERS.search(text):
            source.notes.fact("benchmark", f"HammerDB, {found[1]} virtual users")
        elif found := _RESULT.search(text):
            # Before version 4: "TPM at NOPM"; since then "NOPM from TPM".
            first, tpm, nopm = (None if cell is None else float(cell[:15]) for cell in found.groups())
            new, all_of = (nopm, first) if tpm is None else (first, tpm)
            results.append((stamp, (new or 0.0) / 60, (all_of or 0.0) / 60, minutes))
    rows = Rows()
    _counts(source, rows, counts)
    _results(source, rows, results)
    yield from rows.take()


def _series(metric: str) -> Series:
    return Series(None, "HammerDB", Layer.BENCHMARK, metric)


def _counts(source: Source, rows: Rows, counts: list[tuple[int | None, float]]) -> None:
    stamped = [(time, rate) for time, rate in counts if time is not None]
    source.notes.skip("lines", "counts without a time", len(counts) - len(stamped))
    before: int | None = None
    for time, rate in stamped:
        seconds = (time - before) / NS if before is not None and time > before else None
        rows.add(time, seconds, _series("transactions_per_s"), rate)
        before = time


def _results(source: Source, rows: Rows, results: list[tuple[int | None, float, float, float | None]]) -> None:
    begin = 0
    for time, new_orders, transactions, minutes in results:
        seconds = None if not minutes else minutes * 60
        if time is None:
            begin = (begin or start_of(source)) + round((seconds or 0) * NS)
        at = begin if time is None else time
        rows.add(at, seconds, _series("new_orders_per_s"), new_orders)
        if time is None or seconds is not None:
            rows.add(at, seconds, _series("transactions_per_s"), transactions)


def _stamp(source: Source, line: int, cells: tuple[str | None, ...]) -> int:
    month, day, hour, minute, second, zone, year = (cell or "" for cell in cells)
    try:
        moment = datetime(int(year), _MONTHS.index(month) + 1, int(day), int(hour), int(minute), int(second))
    except ValueError:
        raise source.error("no time after the @", "HammerDB writes Fri Jan 18 12:15:37 UTC 2019", line=line) from None
    local = ns_of(moment)
    if zone in {"UTC", "GMT"} and source.zone is None:
        return local
    return int(zone_of(source).utc(np.array([local], dtype=np.int64))[0])


IMPORTER = Importer("hammerdb", "HammerDB logs", recognise, read)
