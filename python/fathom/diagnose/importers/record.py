"""What `fathom record` wrote on a Linux host."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fathom.diagnose import linux, postgresql
from fathom.diagnose.counters import Differences
from fathom.diagnose.documents import mapping, number
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.recording import MARK, VERSION
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows, Series


def recognise(head: Head) -> float:
    """The key of the first line."""
    return 1.0 if head.text.startswith(f'{{"{MARK}":') else 0.0


def read(source: Source) -> Iterator[Block]:
    """Disks, processor, memory, paging, pressure, and PostgreSQL's views where they were recorded."""
    lines = source.lines()
    host = _head(source, next(lines, (1, ""))[1])
    look = _Sample(host)
    held: tuple[int, str] | None = None
    for number_, text in lines:
        if held is not None:
            yield from _line(source, look, *held, last=False)
        held = (number_, text)
    if held is not None:
        yield from _line(source, look, *held, last=True)
    yield from look.rows.take()
    source.notes.fact("note", look.postgresql.untimed)


def _head(source: Source, text: str) -> str | None:
    try:
        head = json.loads(text)
        version = head[MARK]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise source.error("no head of `fathom record`", "keep the recording's first line", line=1) from None
    if not isinstance(version, int) or version > VERSION:
        raise source.error(f"written by a newer Fathom (version {version})", "read it with that one", line=1)
    for fact in head.get("facts") or []:
        if isinstance(fact, list) and len(fact) == 3 and isinstance(fact[0], str):
            name, value, subject = fact
            try:
                source.notes.fact(name, value, None if subject is None else str(subject))
            except ValueError:
                source.notes.skip("facts", "unknown to this version", 1, name[:40])
    host = head.get("host")
    return host if isinstance(host, str) and host else None


def _line(source: Source, look: _Sample, number_: int, text: str, *, last: bool) -> Iterator[Block]:
    try:
        entry = json.loads(text)
        time = entry["t"]
        if not isinstance(time, int) or not 0 <= time < 1 << 63:
            raise ValueError("t")
    except (ValueError, KeyError, TypeError, RecursionError):
        if last:
            source.notes.skip("lines", "the recording ends within one", 1, f"line {number_}")
            return
        raise source.error("no look of `fathom record`", "remove the line", line=number_) from None
    look.add(time, entry)
    yield from look.rows.take_if()


class _Sample:
    """One look after the other, of one host."""

    def __init__(self, host: str | None) -> None:
        self.rows = Rows()
        self._host = host
        self._disk = Differences(linux.DISK)
        self._cpu = Differences(linux.CPU)
        self._paging = Differences(linux.PAGING)
        self._pressure = Differences(linux.PRESSURE)
        self.postgresql = postgresql.Views(host)

    def add(self, time: int, entry: dict[str, Any]) -> None:
        rows, whole = self.rows, (self._host, None, Layer.HOST)
        for name, cells in mapping(entry.get("disk")).items():
            found = linux.disk(f"0 0 {name} {cells}") if isinstance(cells, str) else None
            if found:
                self._disk.add(rows, time, (self._host, name, Layer.GUEST_DISK), found[1])
                outstanding = Series(self._host, name, Layer.GUEST_DISK, "outstanding")
                rows.add(time, None, outstanding, found[1].get("outstanding"))
        ticks = linux.processor(entry["cpu"]) if isinstance(entry.get("cpu"), str) else None
        if ticks:
            self._cpu.add(rows, time, whole, ticks)
        for name, value in mapping(entry.get("mem")).items():
            kilobytes = number(value)
            if name in linux.MEMORY and kilobytes is not None:
                rows.add(time, None, Series(self._host, None, Layer.HOST, linux.MEMORY[name]), kilobytes * 1024)
        for differences, key in ((self._paging, "vm"), (self._pressure, "psi")):
            counters = {name: number(value) for name, value in mapping(entry.get(key)).items()}
            if counters:
                differences.add(rows, time, whole, counters)
        for view, found_rows in mapping(entry.get("pg")).items():
            if isinstance(found_rows, list):
                self.postgresql.add(rows, time, view, [row for row in found_rows if isinstance(row, dict)])


IMPORTER = Importer(
    "record", "a recording of `fathom record`", recognise, read, "fathom record --out host.fathom", looks=True
)
