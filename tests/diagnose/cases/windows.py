"""Counters of Windows by path, and the same counters as a binary performance log (BLG) in both of its modes.

The layout of BLG is the one that the reader's tests are written with (`blg_writer`): it shows that raw counters give
the same diagnosis as values, not that Windows writes this layout; real logs do that (`test_blg.py`).
"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cases.world import START, Case, World
from diagnose import blg_writer as writer

_PATH = re.compile(r"(?P<object>[^(\\]+)(?:\((?P<instance>.*)\))?\\(?P<counter>[^\\]+)")
_PRECISE, _PRECISE_BASE, _IDLE = 0x20570500, 0x40030500, 0x21510500
# Sums of 100 ns in 32 bits overrun within an interval where many requests wait.
_TIMER = writer.MEAN_TIME | 0x100
_INDICES = {
    "PhysicalDisk": 234, "Current Disk Queue Length": 198, "Avg. Disk Queue Length": 1400, "Avg. Disk sec/Read": 208,
    "Avg. Disk sec/Write": 210, "Disk Transfers/sec": 212, "Disk Reads/sec": 214, "Disk Writes/sec": 216,
    "Disk Read Bytes/sec": 220, "Disk Write Bytes/sec": 222, "% Idle Time": 1482, "Split IO/Sec": 1484,
}  # fmt: skip
"""Perflib's numbers of the names that have one everywhere; others get numbers of their own."""


def windows_counters(case: Case, world: World) -> dict[str, np.ndarray]:
    """Paths without the host, to values."""
    columns: dict[str, np.ndarray] = {}
    for disk in case.disks:
        mine = {
            "Disk Reads/sec": disk.reads, "Disk Writes/sec": disk.writes,
            "Disk Read Bytes/sec": disk.reads * disk.read_bytes,
            "Disk Write Bytes/sec": disk.writes * disk.write_bytes, "Avg. Disk sec/Read": disk.read_s,
            "Avg. Disk sec/Write": disk.write_s, "Current Disk Queue Length": disk.queue,
            "Avg. Disk Queue Length": disk.mean_queue, "Disk Transfers/sec": disk.reads + disk.writes,
            "% Idle Time": np.clip(100 * (1 - disk.mean_queue), 0, 100),
        }  # fmt: skip
        for name in ("Disk Transfers/sec", "% Idle Time", "Avg. Disk Queue Length"):
            if world.chance(0.2):  # a counter that was not chosen, and follows from others
                del mine[name]
        columns |= {rf"PhysicalDisk({disk.name})\{name}": values for name, values in mine.items()}
    columns |= case.counters
    if case.cpu is not None:
        columns[r"Processor(_Total)\% Processor Time"] = case.cpu
    return columns


class _Raw(NamedTuple):
    """A counter as Windows keeps it: type, and the two numbers of every sample, one more than values."""

    object: str
    instance: str
    counter: str
    type: int
    first: np.ndarray
    second: np.ndarray


def blg(case: Case, world: World, folder: Path) -> Path:
    """Chosen counters, or whole objects."""
    columns = windows_counters(case, world)
    raw = [_raw(path, columns, case.interval_s) for path in columns]
    log = writer.Writer()
    (_objects if world.chance(0.5) else _chosen)(log, raw, case.interval_s, world)
    path = folder / "perfmon.blg"
    path.write_bytes(log.finish())
    return path


def _raw(path: str, columns: dict[str, np.ndarray], interval_s: float) -> _Raw:
    """The raw numbers whose differences give the values: a value covers the interval before its sample."""
    found = _PATH.fullmatch(path)
    assert found is not None, path
    name, values = found["counter"], columns[path]
    place = found["object"], found["instance"] or "", name
    ticks = np.round(np.arange(len(values) + 1) * interval_s * writer.FREQUENCY).astype(np.int64)
    clock = ticks + writer.filetime(START)

    def summed(growth: np.ndarray) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(np.round(growth).astype(np.int64))])

    if name in {"Avg. Disk sec/Read", "Avg. Disk sec/Write"}:
        rate = columns[path.replace(name, f"Disk {name.rsplit('/', 1)[1]}s/sec")]
        count = np.round(rate * interval_s)
        return _Raw(*place, _TIMER, summed(count * values * writer.FREQUENCY), summed(count))
    if name == "Avg. Disk Queue Length":
        return _Raw(*place, writer.QUEUE, summed(values * interval_s * 1e7), clock)
    if name.startswith("%"):
        inverse = name == "% Processor Time"
        part = (100 - values if inverse else values) / 100
        return _Raw(*place, _IDLE if inverse else _PRECISE, summed(part * interval_s * 1e7), clock)
    if name.casefold().endswith("/sec") or "per second" in place[1]:
        return _Raw(*place, writer.BULK_RATE, summed(values * interval_s), ticks)
    return _Raw(*place, writer.GAUGE, np.concatenate([values[:1], values]).round(), ticks)


def _chosen(log: writer.Writer, raw: list[_Raw], interval_s: float, world: World) -> None:
    log.list_counters([writer.Counter(each.object, each.instance, each.counter, each.type) for each in raw])
    for at in range(len(raw[0].first)):
        sample = [
            None if at and world.chance(0.01) else (int(each.first[at]), int(each.second[at])) for each in raw
        ]  # fmt: skip
        log.sample(START + timedelta(seconds=interval_s * at), sample)


def _objects(log: writer.Writer, raw: list[_Raw], interval_s: float, world: World) -> None:
    del world  # Windows writes whole objects or none.
    names: dict[str, int] = dict(_INDICES)
    for each in raw:
        for name in (each.object, each.counter):
            names.setdefault(name, 5000 + 2 * len(names))
    log.names({number: name for name, number in names.items()})
    objects = list(dict.fromkeys(each.object for each in raw))
    log.list_objects(objects)
    for at in range(len(raw[0].first)):
        moment = START + timedelta(seconds=interval_s * at)
        log.object_sample(moment, moment, [_block(names, [e for e in raw if e.object == o], at) for o in objects])


def _block(names: dict[str, int], raw: list[_Raw], at: int) -> bytes:
    """One object's block. A counter that an instance lacks, as nobody chose it, is there for all or for none."""
    instances = list(dict.fromkeys(each.instance for each in raw))
    by_name = {(each.instance, each.counter): each for each in raw}
    shared = [c for c in dict.fromkeys(e.counter for e in raw) if all((i, c) in by_name for i in instances)]
    counters: list[tuple[int, int]] = []
    rows: dict[str, list[int]] = {instance: [] for instance in instances}
    for counter in shared:
        kind = by_name[instances[0], counter].type
        base = {_TIMER: writer.MEAN_BASE, _PRECISE: _PRECISE_BASE}.get(kind)
        counters += [(names[counter], kind)] + ([(names[counter], base)] if base else [])
        for instance in instances:
            each = by_name[instance, counter]
            rows[instance] += [int(each.first[at])] + ([int(each.second[at])] if base else [])
    return writer.object_block(names[raw[0].object], counters, rows[""] if instances == [""] else rows)
