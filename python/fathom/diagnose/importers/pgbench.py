"""pgbench: progress lines of `-P`, and the logs of `-l` (one line per transaction) or `--aggregate-interval`.

Progress lines hold seconds since the start (`-P 1`) or since 1970 (with `--progress-timestamp`); logs since 1970. With
`-j` every thread writes a log of its own: `pgbench_log.4711`, `pgbench_log.4711.1`, and so on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from fathom.diagnose.clock import NS, start_of
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows, Series

_PROGRESS = re.compile(
    r"^progress: ([\d.]+) s, ([\d.]+) tps, lat ([\d.]+) ms stddev ([\d.]+)(?:, lag ([\d.]+) ms)?(?:, (\d+) failed)?"
)
_EACH = re.compile(r"^\d+ \d+ (\d+|skipped|failed|serialization|deadlock) \d+ \d{9,11} \d{1,6}(?: \d+)*\s*$")
_AGGREGATE = re.compile(r"^(\d{9,11}) (\d+) (\d+) (\d+) (\d+) (\d+)(?: \d+)*\s*$")
_THREAD = re.compile(r"\.\d+\.(\d+)(?=\.|$)")
_FACTS = re.compile(
    r"^(transaction type|scaling factor|number of clients|number of threads|duration|query mode): (.*)$"
)


def recognise(head: Head) -> float:
    """Progress lines, or lines of either log."""
    lines = head.lines
    if any(_PROGRESS.match(line) for line in lines):
        return 0.95
    for form in (_EACH, _AGGREGATE):
        if len(lines) >= 2 and all(form.match(line) for line in lines[:20]):
            return 0.85
    return 0.0


def read(source: Source) -> Iterator[Block]:
    """Transactions per second, response times, failures."""
    head = source.head()
    lines = head.lines
    if any(_PROGRESS.match(line) for line in lines):
        yield from _progress(source)
    elif lines and _EACH.match(lines[0]):
        yield from _transactions(source)
    elif lines and _AGGREGATE.match(lines[0]):
        yield from _aggregates(source)
    else:
        raise source.error("neither progress lines nor a log of pgbench", "record with pgbench -P 1 or -l", line=1)


def _series(metric: str, device: str = "pgbench") -> Series:
    return Series(None, device, Layer.BENCHMARK, metric)


def _device_of(source: Source) -> str:
    """pgbench, or the thread whose log it is."""
    name = source.path.name
    thread = _THREAD.search(name)
    if thread or source.path.with_name(f"{name}.1").exists():
        source.notes.fact("note", "the log of one thread of several (pgbench -j): its transactions are not all")
    return f"pgbench, thread {thread[1]}" if thread else "pgbench"


def _progress(source: Source) -> Iterator[Block]:
    rows = Rows()
    before: float | None = None
    again = 0
    for number, text in source.lines():
        found = _PROGRESS.match(text)
        if not found:
            fact = _FACTS.match(text)
            if fact:
                source.notes.fact("benchmark", f"{fact[1]}: {fact[2]}", "pgbench")
            elif text.startswith("progress:"):
                source.notes.skip("lines", "no progress of pgbench", 1, f"line {number}: {text[:60]}")
            continue
        try:
            at, rate, mean = (float(found[place]) for place in (1, 2, 3))
        except ValueError:
            raise source.error("no number in a progress line", "record again", line=number) from None
        if at > 1e11:
            continue
        time = round(at * NS) + (start_of(source) if at < 1e8 else 0)
        again += before == at
        seconds = at - before if before is not None and at > before else (at if at < 1e8 else None)
        before = at
        rows.add(time, seconds, _series("transactions_per_s"), rate)
        rows.add(time, seconds, _series("response_s"), mean / 1000 if rate else None)
        if found[5]:
            rows.add(time, seconds, _series("schedule_lag_s"), float(found[5]) / 1000)
        if found[6] and seconds:
            rows.add(time, seconds, _series("failed_per_s"), float(found[6]) / seconds)
    if again:
        source.notes.fact("note", f"{again} lines have the time of the line before: they count as one moment")
    yield from rows.take()


def _transactions(source: Source) -> Iterator[Block]:
    """One line per transaction into seconds: client, number, µs, script, second and µs of its end."""
    by_second: dict[int, list[float]] = {}
    failed: dict[int, int] = {}
    rows, device = Rows(), _device_of(source)
    for number, text in source.lines():
        cells = text.split()
        if len(cells) < 6 or not cells[4].isdigit() or len(cells[4]) > 11:
            source.notes.skip("lines", "no transactions of pgbench", 1, f"line {number}: {text[:60]}")
            continue
        second = int(cells[4])
        if cells[2].isdigit() and len(cells[2]) < 16:
            by_second.setdefault(second, []).append(int(cells[2]) / 1e6)
        else:
            failed[second] = failed.get(second, 0) + 1
        # Lines are in the order of their ends but for a little: all but the latest seconds are complete.
        if len(by_second) > 600:
            _seconds(rows, device, by_second, failed, keep=10)
            yield from rows.take()
    _seconds(rows, device, by_second, failed, keep=0)
    yield from rows.take()


def _seconds(rows: Rows, device: str, by_second: dict[int, list[float]], failed: dict[int, int], keep: int) -> None:
    ordered = sorted({*by_second, *failed})
    for second in ordered[: len(ordered) - keep]:
        took = np.array(by_second.pop(second, []))
        time = (second + 1) * NS
        rows.add(time, 1.0, _series("transactions_per_s", device), float(len(took)))
        rows.add(time, 1.0, _series("failed_per_s", device), float(failed.pop(second, 0)))
        if len(took):
            rows.add(time, 1.0, _series("response_s", device), float(took.mean()))
            rows.add(time, 1.0, _series("response_p95_s", device), float(np.quantile(took, 0.95)))
            rows.add(time, 1.0, _series("response_p99_s", device), float(np.quantile(took, 0.99)))
            rows.add(time, 1.0, _series("response_max_s", device), float(took.max()))


def _aggregates(source: Source) -> Iterator[Block]:
    """One line per interval: its start, transactions, sum and sum of squares of µs, least and most."""
    rows, device = Rows(), _device_of(source)
    found = []
    for number, text in source.lines():
        match = _AGGREGATE.match(text)
        if match and all(len(cell) < 19 for cell in match.groups()):
            found.append([int(cell) for cell in match.groups()])
        elif text.strip():
            source.notes.skip("lines", "no interval of pgbench", 1, f"line {number}: {text[:60]}")
    steps = sorted(after[0] - before[0] for before, after in pairwise(found) if after[0] > before[0])
    step = steps[0] if steps else None
    for start, count, total, _, _, most in found:
        if step is None:
            continue
        time, seconds = (start + step) * NS, float(step)
        rows.add(time, seconds, _series("transactions_per_s", device), count / step)
        rows.add(time, seconds, _series("response_s", device), total / count / 1e6 if count else None)
        rows.add(time, seconds, _series("response_max_s", device), most / 1e6 if count else None)
        yield from rows.take_if()
    yield from rows.take()


IMPORTER = Importer(
    "pgbench", "pgbench progress and logs", recognise, read, "pgbench -P 1 --progress-timestamp ... 2> pgbench.txt"
)
