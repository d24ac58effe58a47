"""What the matrix and the geometry mean for a database: plain sentences with their evidence. Pure.

The knee is where the two bounds of operational analysis meet (N* = Xmax R0, Little's law), fitted by `analysis.knee`.
Grades follow what the tiers usually give: 0.5 ms for local NVMe, 2 ms for an array of flash, 5 ms for cloud volumes,
15 ms for rotating disks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fathom.analysis.knee import Bounds, fit_bounds
from fathom.probe.matrix import KIB, Cell, Matrix
from fathom.probe.place import Place, size_words

_TIERS = ((0.5, "local NVMe"), (2.0, "an all-flash array"), (5.0, "a cloud volume"), (15.0, "a rotating disk"))
_COPY_ON_WRITE = frozenset({"btrfs", "zfs", "bcachefs"})
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "fuse.sshfs"})
_UNSAFE = frozenset({"nobarrier", "barrier=0"})

_REWRITE = 1.3
"""512-byte writes that take this many times as long as 4 KiB ones are read-modify-write."""

_TOO_FAST_MS = 0.03
"""A flush of a volatile cache that returns sooner has stored nothing: flash programs a page in hundreds of µs."""

_MOVED = 0.2
"""Scatter between a cell's passes from which single figures mean little."""

_BUSY = 0.25
"""Share of the processors that others may keep busy; more, and latencies are partly theirs."""


_PRESENT = 0.7
"""Share of the stated outstanding I/O that must have been there, by rate x latency, for a rate to be the disk's."""


_CREEPS = 1.1
"""A rate this many times the fitted ceiling was met: that is no ceiling."""


class Mark(StrEnum):
    """How a finding is meant; the words say the same."""

    GOOD = "good"
    NOTE = "note"
    WARN = "warn"


@dataclass(frozen=True)
class Finding:
    """One sentence on one subject: "log", "data", "place" or "measurement"."""

    subject: str
    mark: Mark
    sentence: str


def knee(matrix: Matrix) -> Bounds | None:
    """The bounds of the rate of random reads over the depth; None where it never met a ceiling."""
    reads = [cell for cell in matrix.named("random read") if cell.iops > 0]
    return fit_bounds(np.array([float(cell.step.depth) for cell in reads]), np.array([cell.iops for cell in reads]))


def advise(place: Place, matrix: Matrix) -> list[Finding]:
    """Every finding, the log first."""
    subjects = {
        "log": _log(place, matrix),
        "data": _data(matrix),
        "place": _place(place, matrix),
        "measurement": _measurement(matrix),
    }
    return [Finding(subject, mark, words) for subject, found in subjects.items() for mark, words in found]


def tier(milliseconds: float) -> str:
    """Which kind of storage usually answers that fast."""
    return next((name for limit, name in _TIERS if milliseconds <= limit), "slower than a rotating disk")


def time_words(milliseconds: float) -> str:
    """A time with three significant digits at most."""
    return f"{milliseconds * 1e3:.3g} µs" if milliseconds < 0.1 else f"{milliseconds:.3g} ms"


_Findings = Iterator[tuple[Mark, str]]


def _log(place: Place, matrix: Matrix) -> _Findings:
    writes = {cell.step.bytes: cell for cell in matrix.named("log write")}
    usual = writes.get(4 * KIB)
    if usual is None:
        return
    yield _commits(usual)
    if (small := writes.get(512)) is not None:
        yield _small_blocks(place, small, usual)
    large = writes.get(60 * KIB)
    if large is not None and large.latency_ms < 2 * usual.latency_ms:
        yield (
            Mark.NOTE,
            (
                f"60 KiB take {time_words(large.latency_ms)} where 4 KiB take {time_words(usual.latency_ms)}: a flush "
                "costs nearly the same whatever it carries, so many rows per commit, or group commit, pay off."
            ),
        )
    cached = place.device is not None and place.device.write_cache == "write back"
    if cached and not place.system.in_memory and usual.latency_ms < _TOO_FAST_MS:
        yield (
            Mark.WARN,
            (
                f"A flush returns after {time_words(usual.latency_ms)}, sooner than flash can store anything: check "
                "that the hypervisor or controller does not ignore flushes. Otherwise a power cut may lose committed "
                "transactions."
            ),
        )


def _commits(usual: Cell) -> tuple[Mark, str]:
    if usual.latency_ms <= 2:
        mark, verdict = Mark.GOOD, "suits a busy log"
    elif usual.latency_ms <= 5:
        mark, verdict = Mark.NOTE, "is good enough for a log, but users will notice commits"
    else:
        mark, verdict = Mark.WARN, "is slow for a log"
    return mark, (
        f"A 4 KiB log write with its flush takes {time_words(usual.latency_ms)} (as {tier(usual.latency_ms)}) and "
        f"{verdict}. One writer that commits row by row gets about {usual.iops:,.0f} commits per second."
    )


def _small_blocks(place: Place, small: Cell, usual: Cell) -> tuple[Mark, str]:
    ratio = small.latency_ms / usual.latency_ms
    physical = place.device.physical_sector if place.device is not None else None
    if ratio >= _REWRITE and min(small.passes_ms, default=0) < max(usual.passes_ms, default=0):
        return Mark.NOTE, (
            f"512-byte log writes took {ratio:.1f} times as long as 4 KiB ones, but single passes overlap: the disk is "
            "fluctuating too much to tell. Probe again when it is quiet."
        )
    if ratio >= _REWRITE:
        return Mark.WARN, (
            f"512-byte log writes take {ratio:.1f} times as long as 4 KiB ones: the disk reads, modifies and writes a "
            "larger sector. Let the log use 4 KiB blocks (SQL Server: startup parameter -T1800)."
        )
    sectors = f" although physical sectors have {physical} B" if physical is not None and physical > 512 else ""
    return Mark.GOOD, (
        f"512-byte log writes cost no more than 4 KiB ones{sectors} ({time_words(small.latency_ms)} and "
        f"{time_words(usual.latency_ms)}): the log's block size does not matter here."
    )


def _data(matrix: Matrix) -> _Findings:
    reads = matrix.named("random read")
    alone, deepest = reads[0], reads[-1]
    grade = Mark.GOOD if alone.latency_ms <= 2 else Mark.NOTE if alone.latency_ms <= 15 else Mark.WARN
    yield grade, f"A single 8 KiB random read takes {time_words(alone.latency_ms)} (as {tier(alone.latency_ms)})."
    bounds = knee(matrix)
    if bounds is None:
        yield (
            Mark.GOOD,
            (
                f"Random reads still gain at {deepest.step.depth} outstanding ({deepest.iops:,.0f} IOPS at "
                f"{time_words(deepest.latency_ms)}): no ceiling was reached."
            ),
        )
    else:
        yield Mark.NOTE, _knee_words(bounds, max(reads, key=lambda cell: cell.iops))
        if (cap := _round_cap(reads)) is not None:
            yield Mark.NOTE, f"The plateau is flat at {cap:,} IOPS, a round number: it looks like a provisioned limit."
    scans = matrix.named("sequential read")
    if scans and scans[0].mb_per_s > 0:
        yield (
            Mark.NOTE,
            (
                f"Sequential reads of 64 KiB reach {scans[0].mb_per_s:,.0f} MB/s: a full scan or backup of 100 GB "
                f"takes {100_000 / scans[0].mb_per_s / 60:.2g} min at best."
            ),
        )


def _knee_words(bounds: Bounds, most: Cell) -> str:
    """Where the bounds meet, and what is beyond: a disk whose rate creeps on is not said to have a ceiling below it."""
    start = f"The knee is near {bounds.n_star:.2g} outstanding (Little's law): beyond it "
    if most.iops > _CREEPS * bounds.ceiling:
        return (
            f"{start}latency grows faster than the rate; the highest rate measured is {most.iops:,.0f} IOPS at "
            f"{most.step.depth} outstanding, {time_words(most.latency_ms)} each."
        )
    return f"{start}the disk gives at most {bounds.ceiling:,.0f} IOPS, and more outstanding I/O only waits."


def _round_cap(reads: tuple[Cell, ...]) -> int | None:
    """A multiple of 500 IOPS, up to 20,000, that the last two depths both meet within half a per cent."""
    cap = round(reads[-1].iops / 500) * 500
    flat = 0 < cap <= 20_000 and all(abs(cell.iops / cap - 1) < 0.005 for cell in reads[-2:])
    return cap if flat else None


def _place(place: Place, matrix: Matrix) -> _Findings:
    yield from _file_system(place)
    device = place.device
    if device is None:
        return
    offset, physical = device.partition_offset, device.physical_sector
    if offset is not None and physical and offset % physical:
        yield Mark.WARN, f"The partition starts at byte {offset}, not on a sector of {physical} B: every I/O is split."
    alone = matrix.named("random read")[0]
    if device.rotational and alone.latency_ms < 1:
        yield (
            Mark.NOTE,
            (
                f"The kernel treats {device.name} as a rotating disk, but it answers in "
                f"{time_words(alone.latency_ms)}: `echo 0 > /sys/block/{device.name}/queue/rotational` "
                "tells schedulers and databases."
            ),
        )
    if device.scheduler == "bfq" and not device.rotational:
        yield Mark.NOTE, "Scheduler bfq lowers the rate on flash: use none or mq-deadline for a database."


def _file_system(place: Place) -> _Findings:
    kind = place.system.mount.kind
    if place.system.in_memory:
        yield Mark.WARN, f"{kind} keeps files in memory: these figures describe no disk."
    if kind == "overlay":
        yield Mark.WARN, "This is a container's own layer: give the database a volume of its own."
    if kind in _COPY_ON_WRITE:
        yield Mark.NOTE, f"{kind} copies on write and fragments data files: use its no-copy-on-write attribute."
    if kind in _NETWORK:
        yield Mark.NOTE, f"{kind} is a network file system: check that it honours flushes (sync exports, hard mounts)."
    if _UNSAFE & set(place.system.mount.options):
        yield Mark.WARN, "Write barriers are off: a power cut may corrupt the file system and the log."
    unit = size_words(place.system.allocation_unit)
    yield (
        Mark.NOTE,
        f"The allocation unit is {unit}. It does not limit the size of I/O; a larger one saves metadata, not time.",
    )


def _measurement(matrix: Matrix) -> _Findings:
    if matrix.busy is not None and matrix.busy[0] > _BUSY * matrix.busy[1]:
        busy, all_of_them = matrix.busy
        yield (
            Mark.WARN,
            (
                f"The machine is busy: other processes kept {busy:.1f} of {all_of_them} processors busy before "
                "the measurement. They add to the latencies; probe again when it is quiet."
            ),
        )
    restless = [(cell.scatter, cell) for cell in matrix.cells if cell.scatter is not None and cell.scatter > _MOVED]
    if restless:
        most, cell = max(restless, key=lambda found: found[0])
        yield (
            Mark.WARN,
            (
                f"{len(restless)} of {len(matrix.cells)} cells changed by more than {_MOVED:.0%} between passes, "
                f"{cell.step.name} of {size_words(cell.step.bytes)} with {cell.step.depth} outstanding by {most:.0%} "
                f"({time_words(min(cell.passes_ms))} to {time_words(max(cell.passes_ms))}): single figures of this "
                "disk mean little; compare with `fathom run` over several rounds."
            ),
        )
    first = matrix.named("random read")[0]
    present = first.iops * first.latency_ms / 1e3
    if present < _PRESENT * first.step.depth:
        yield (
            Mark.WARN,
            (
                f"By Little's law only {present:.2f} of {first.step.depth} requests were outstanding: this machine was "
                "slow to send the next one (busy, or waking an idle CPU). Rates at low depth show this machine, not "
                "the disk."
            ),
        )
    if not matrix.direct:
        yield (
            Mark.WARN,
            "Direct I/O is not available here: reads came from the page cache and do not describe the disk.",
        )
    yield (
        Mark.NOTE,
        (
            f"Measured on a scratch file of {size_words(matrix.file_bytes)} that was read once before: a cache below "
            "may be faster than the disk behind it."
        ),
    )
