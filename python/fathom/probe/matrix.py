"""The measured matrix: short runs of the `io` workload on a scratch file that has no name.

The file is unlinked before its first byte is written, so that not even `kill -9` leaves it behind; the engine opens it
through /proc. It is filled and read once before anything is measured: fresh or cold extents answer at another speed.
"""

from __future__ import annotations

import json
import mmap
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fathom.engine import Engine
from fathom.errors import FathomError
from fathom.host import machine, scratch
from fathom.host.mounts import FileSystem
from fathom.plan import plan
from fathom.study import parse

DEPTHS = (1, 2, 4, 8, 16, 32, 64)
KIB = 1024
MIB = 1 << 20

PASSES = 3
"""How often the whole matrix is measured: the passes of a cell are apart in time and show how a disk drifts."""

_LOOK_SECONDS = 0.5
"""How long the processors are looked at before anything is measured."""

_CHUNK = MIB
_SMALLEST = 64 * MIB
_FILL_SECONDS = 8.0
_WARM_SECONDS = 5.0


@dataclass(frozen=True)
class Step:
    """One cell to measure.

    Attributes:
        name: "random read", "sequential read", "sequential write" or "log write" (a flush after every write).
        bytes: of each request; `depth` requests outstanding.
        seconds: measured, after a short ramp.
    """

    name: str
    bytes: int
    depth: int
    seconds: float


@dataclass(frozen=True)
class Cell:
    """A measured cell: rates per second, latencies in ms. A log write's latency includes its flush.

    Attributes:
        p99_ms: of a log write that of the write and that of its flush added: commits are seldom slower than that.
        passes_ms: latency of every pass; the cell is the median one.
    """

    step: Step
    iops: float
    mb_per_s: float
    latency_ms: float
    p99_ms: float | None
    passes_ms: tuple[float, ...] = ()

    @property
    def scatter(self) -> float | None:
        """How far apart the passes are: the longest latency over the shortest, less 1; None for a single pass."""
        if len(self.passes_ms) < 2 or min(self.passes_ms) <= 0:
            return None
        return max(self.passes_ms) / min(self.passes_ms) - 1


@dataclass(frozen=True)
class Matrix:
    """Everything measured.

    Attributes:
        file_bytes: size of the scratch file.
        direct: whether the page cache was bypassed.
        busy: processors that others kept busy before anything was measured, and how many there are; None if unknown.
    """

    file_bytes: int
    direct: bool
    cells: tuple[Cell, ...]
    notes: tuple[str, ...]
    busy: tuple[float, int] | None = None

    def named(self, name: str) -> tuple[Cell, ...]:
        """The cells of one kind, in the order they were measured."""
        return tuple(cell for cell in self.cells if cell.step.name == name)


def steps(logical_sector: int, *, seconds: float = 0.8) -> tuple[Step, ...]:
    """The matrix; log writes smaller than a logical sector are left out, a disk cannot take them."""
    reads = tuple(Step("random read", 8 * KIB, depth, seconds) for depth in DEPTHS)
    scans = (Step("sequential read", 64 * KIB, 8, seconds), Step("sequential write", 64 * KIB, 8, seconds))
    logs = tuple(Step("log write", size, 1, seconds) for size in (512, 4 * KIB, 60 * KIB) if size % logical_sector == 0)
    return (*reads, *scans, *logs)


def file_size(system: FileSystem, wanted: int) -> int:
    """How large the scratch file may be: what was asked for, but at most a fifth of what is free, so that whatever
    else writes there does not fail.

    Raises:
        FathomError: too little is free for a meaningful file.
    """
    size = min(wanted, system.free // 5) // MIB * MIB
    if size < _SMALLEST:
        raise FathomError(
            f"{system.mount.target}: only {system.free // MIB} MiB free; a probe needs {5 * _SMALLEST // MIB} MiB: its "
            f"file has at least {_SMALLEST // MIB} MiB and takes at most a fifth of what is free",
            "free some space, or probe another directory",
        )
    return size


def measure(
    directory: Path, size: int, todo: tuple[Step, ...], engine: Engine, tick: Callable[[float, str], None]
) -> Matrix:
    """Fills the file, warms it, and measures every step `PASSES` times.

    Args:
        directory: where the scratch file is.
        size: of the scratch file, in bytes; less is filled if the disk is slow.
        todo: what to measure.
        engine: the extension module.
        tick: called with the share done (0 to 1) and words; may raise to stop.

    Raises:
        FathomError: the disk refuses, is full, or a run fails.
    """
    tick(0.0, "looking how busy the machine is")
    busy = machine.busy_processors(_LOOK_SECONDS)
    with scratch.unlinked_file(directory) as (descriptor, path):
        tick(0.0, "filling the scratch file")
        try:
            filled = _fill(descriptor, size, lambda: tick(0.0, "filling the scratch file"))
            _warm(path, filled)
        except OSError as problem:
            raise FathomError(f"{directory}: scratch file: {problem.strerror}", "probe another directory") from None
        cells: list[Cell] = []
        facts: dict[str, str] = {}
        every = todo * PASSES
        for number, step in enumerate(every):
            begin = (number + 1) / (len(every) + 1)
            pass_ = number // len(todo) + 1
            words = f"pass {pass_} of {PASSES}: {step.name}, {step.bytes} B, {step.depth} outstanding"

            def passed_on(share: float, _words: str, begin: float = begin, words: str = words) -> None:
                tick(begin + share / (len(every) + 1), words)

            cell, facts = _cell(step, path, filled, engine, passed_on)
            cells.append(cell)
    direct = facts.get("scratch.direct_io", "yes").startswith("yes")
    return Matrix(
        filled,
        direct,
        tuple(_median_of([cell for cell in cells if cell.step == step]) for step in todo),
        tuple(f"{key}: {value}" for key, value in facts.items()),
        None if busy is None else (busy, machine.processors()),
    )


def _median_of(passes: list[Cell]) -> Cell:
    """The median of all passes of one step, with the latency of each."""
    middle = sorted(passes, key=lambda cell: cell.latency_ms)[len(passes) // 2]
    return replace(middle, passes_ms=tuple(cell.latency_ms for cell in passes))


def study_text(step: Step, path: Path, size: int) -> str:
    """The study of one step: what `fathom run` could run as well."""
    quoted = json.dumps(str(path))
    lines = [
        'title = "probe"',
        "[volumes.scratch]",
        'kind = "file"',
        f"path = {quoted}",
        f'size = "{size}B"',
        "[workload]",
        'kind = "io"',
        'volumes = ["scratch"]',
        f'size = "{step.bytes}B"',
        f"outstanding = {step.depth}",
        f'offsets = "{"random" if step.name == "random read" else "sequential"}"',
        f'read = "{100 if step.name.endswith("read") else 0}%"',
        f'duration = "{round(step.seconds * 1000)}ms"',
        f'ramp = "{round(step.seconds * 200)}ms"',
    ]
    if step.name == "log write":
        lines.append("flush_every = 1")
    return "\n".join(lines) + "\n"


def _cell(
    step: Step, path: Path, size: int, engine: Engine, tick: Callable[[float, str], None]
) -> tuple[Cell, dict[str, str]]:
    text = study_text(step, path, size)
    try:
        made = plan(parse(text, Path("probe.toml"), engine), rounds=1)
        outcome = engine.run(json.dumps(made.entry(made.runs[0])), path.parent, tick)
    except engine.RunFailed as failure:
        reason, message = failure.args
        if reason == "cancelled":
            raise KeyboardInterrupt from None
        raise FathomError(f"{step.name} of {step.bytes} B failed ({reason}): {message}") from None
    metrics = outcome["metrics"]
    return _cell_of(step, metrics, outcome["volumes"]["workload"]), outcome["facts"]


def _cell_of(step: Step, metrics: dict[str, Any], requests: dict[str, Any]) -> Cell:
    rate = float(metrics["iops"] or 0.0)
    # Of a log writer the person waits for write and flush together: one outstanding, so the cycle time is 1 / rate.
    cycle = 1e3 / rate if step.name == "log write" and rate else float(metrics["latency_ms"] or 0.0)
    tail = _both_p99(requests) if step.name == "log write" else metrics.get("latency_p99_ms")
    return Cell(step, rate, rate * step.bytes / 1e6, cycle, tail)


def _both_p99(requests: dict[str, Any]) -> float | None:
    """The p99 of a write and of its flush, added. They are counted apart; slow ones mostly come together."""
    write, flush = ((requests.get(kind) or {}).get("latency_p99_ns") for kind in ("write", "flush"))
    return None if write is None or flush is None else (write + flush) / 1e6


def _fill(descriptor: int, size: int, tick: Callable[[], None]) -> int:
    """Writes data that neither compresses nor repeats; stops early on a slow disk. Gives the bytes written."""
    block = os.urandom(_CHUNK)
    deadline = time.perf_counter() + _FILL_SECONDS
    written = 0
    while written < size and (time.perf_counter() < deadline or written < _SMALLEST):
        stamp = written.to_bytes(8, "little")
        os.pwrite(descriptor, stamp + block[8:], written)
        written += _CHUNK
        if written % (32 * MIB) == 0:
            os.fdatasync(descriptor)
            tick()
    os.fsync(descriptor)
    return written


def _warm(path: Path, size: int) -> None:
    """Reads the file once, past the page cache where the file system allows it."""
    deadline = time.perf_counter() + _WARM_SECONDS
    with _opened(path) as descriptor, mmap.mmap(-1, _CHUNK) as buffer:
        for offset in range(0, size, _CHUNK):
            os.preadv(descriptor, [buffer], offset)
            if time.perf_counter() > deadline:
                break


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = -1
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    if descriptor < 0:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
