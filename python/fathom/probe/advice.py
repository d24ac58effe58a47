"""What the matrix and the geometry mean for a database: findings, each with its evidence and what to do. Pure.

The knee is where the two bounds of operational analysis meet (N* = Xmax R0, Little's law), fitted by `analysis.knee`.
Grades follow what the tiers usually give: 0.5 ms for local NVMe, 2 ms for an array of flash, 5 ms for cloud volumes,
15 ms for rotating disks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fathom.analysis.knee import MISFIT, Bounds, fit_bounds, misfit
from fathom.finding import Evidence, Finding, Remedy, Severity
from fathom.probe import surroundings
from fathom.probe.matrix import KIB, Cell, Matrix
from fathom.probe.storage import Storage
from fathom.probe.words import time_words

_TIERS = ((0.5, "local NVMe"), (2.0, "an all-flash array"), (5.0, "a cloud volume"), (15.0, "a rotating disk"))

_REWRITE = 1.3
"""512-byte writes that take this many times as long as 4 KiB ones are read-modify-write."""

_LARGER = 2.0
"""Writes of 60 KiB that take less than so many times as long as 4 KiB ones have nearly the cost of a flush alone."""

_TOO_FAST_MS = 0.03
"""A flush of a volatile cache that returns sooner has stored nothing: flash programs a page in hundreds of µs."""

_GAINS = 1.05
"""A rate this many times as high is a gain, and no noise."""

_AGAIN = Remedy("Probe again when the machine and the disk are quiet.")

LOG, DATA = "log", "data"
"""What findings of this file are about."""


def knee(matrix: Matrix) -> Bounds | None:
    """The bounds of the rate of random reads over the depth; None where they are not those of the measured rates."""
    reads = [cell for cell in matrix.named("random read") if cell.iops > 0]
    depths, rates = np.array([float(cell.step.depth) for cell in reads]), np.array([cell.iops for cell in reads])
    bounds = fit_bounds(depths, rates)
    return None if bounds is None or misfit(depths, rates, bounds) > MISFIT else bounds


def advise(place: Storage, matrix: Matrix) -> list[Finding]:
    """Every finding, those on the log first."""
    return [
        *_log(place, matrix),
        *_data(matrix),
        *surroundings.place(place, matrix),
        *surroundings.measurement(matrix),
    ]


def tier(milliseconds: float) -> str:
    """Which kind of storage usually answers that fast."""
    return next((name for limit, name in _TIERS if milliseconds <= limit), "slower than a rotating disk")


def _log(place: Storage, matrix: Matrix) -> Iterator[Finding]:
    writes = {cell.step.bytes: cell for cell in matrix.named("log write")}
    usual = writes.get(4 * KIB)
    if usual is None:
        return
    yield _commits(usual, in_memory=place.system.in_memory)
    if (small := writes.get(512)) is not None:
        yield _small_blocks(place, small, usual)
    large = writes.get(60 * KIB)
    if large is not None and large.latency_ms < _LARGER * usual.latency_ms:
        yield _flush_cost(large, usual)
    cached = place.device is not None and place.device.write_cache == "write back"
    if cached and not place.system.in_memory and usual.latency_ms < _TOO_FAST_MS:
        yield Finding(
            "log-flush-ignored",
            LOG,
            f"A flush returns after {time_words(usual.latency_ms)}, sooner than flash can store anything.",
            Severity.WARNING,
            0.7,
            harm="A power cut may lose committed transactions.",
            remedies=(Remedy("Check that the hypervisor or controller does not ignore flushes."),),
        )


def _grade(milliseconds: float) -> tuple[Severity, str]:
    """What a log makes of a write with its flush that takes so long."""
    if milliseconds <= 2:
        return Severity.GOOD, "suits a busy log"
    if milliseconds <= 5:
        return Severity.NOTE, "is good enough for a log, but users will notice commits"
    return Severity.WARNING, "is slow for a log"


def _commits(usual: Cell, *, in_memory: bool) -> Finding:
    took = f"A 4 KiB log write with its flush takes {time_words(usual.latency_ms)}"
    if not in_memory and len({_grade(each) for each in usual.passes_ms}) > 1:
        low, high = (time_words(each(usual.passes_ms)) for each in (min, max))
        what = f"{took}, and {low} to {high} in single passes: too unsteady to say whether it suits a log."
        return Finding("log-commits", LOG, what, Severity.NOTE, 0.4, remedies=(_AGAIN,))
    severity, verdict = _grade(usual.latency_ms)
    commits = f"One writer that commits row by row gets about {usual.iops:,.0f} commits per second."
    what = f"{took} (as {tier(usual.latency_ms)}) and {verdict}."
    if in_memory:
        # However fast: what is gone with the machine's power is no place for a log.
        severity, what = Severity.WARNING, f"{took}, and nothing of it survives a restart: this is memory."
    if usual.p99_ms is not None:
        commits += f" One in a hundred takes up to {time_words(usual.p99_ms)}."
    return Finding("log-commits", LOG, what, severity, 0.9, (Evidence(commits),))


def _flush_cost(large: Cell, usual: Cell) -> Finding:
    """What a flush costs by what it carries, unless the passes say both."""
    took, usually = time_words(large.latency_ms), time_words(usual.latency_ms)
    noise = _noise(large, usual)
    if _may_turn(large.latency_ms / usual.latency_ms, _LARGER, noise):
        what = (
            f"60 KiB with their flush took {took} where 4 KiB took {usually}, but single passes differ by up to "
            f"{noise:.1f} times: too much to tell what the size of a flush costs."
        )
        return Finding("log-flush-cost", LOG, what, Severity.NOTE, 0.4, remedies=(_AGAIN,))
    return Finding(
        "log-flush-cost",
        LOG,
        "A flush costs nearly the same whatever it carries.",
        Severity.NOTE,
        0.9,
        (Evidence(f"60 KiB take {took} where 4 KiB take {usually}."),),
        remedies=(Remedy("Commit many rows at a time, or let the database group commits."),),
    )


def _noise(*cells: Cell) -> float:
    """By how many times the passes of a cell differ at most."""
    return 1 + max(cell.scatter or 0.0 for cell in cells)


def _may_turn(ratio: float, limit: float, noise: float) -> bool:
    """Whether what passes differ by is enough to bring a ratio to the other side of a limit."""
    return noise >= max(ratio, limit) / min(ratio, limit)


def _small_blocks(place: Storage, small: Cell, usual: Cell) -> Finding:
    ratio = small.latency_ms / usual.latency_ms
    physical = place.device.physical_sector if place.device is not None else None
    noise = _noise(small, usual)
    faster = None not in (small.p99_ms, usual.p99_ms) and (small.p99_ms or 0.0) < (usual.p99_ms or 0.0)
    if _may_turn(ratio, _REWRITE, noise) or (ratio >= _REWRITE and faster):
        what = (
            f"512-byte log writes took {ratio:.1f} times as long as 4 KiB ones, but single passes differ by up to "
            f"{noise:.1f} times: too much to tell what the block size costs."
        )
        return Finding("log-small-blocks", LOG, what, Severity.NOTE, 0.4, remedies=(_AGAIN,))
    if ratio >= _REWRITE:
        what = (
            f"512-byte log writes take {ratio:.1f} times as long as 4 KiB ones: the disk reads, modifies and writes a "
            "larger sector."
        )
        larger = Remedy(
            "Let the log use 4 KiB blocks. SQL Server: trace flag 1800, and a restart.",
            ("/opt/mssql/bin/mssql-conf traceflag 1800 on",),
        )
        return Finding("log-small-blocks", LOG, what, Severity.WARNING, 0.9, remedies=(larger,))
    sectors = f" although physical sectors have {physical} B" if physical is not None and physical > 512 else ""
    what = (
        f"512-byte log writes cost no more than 4 KiB ones{sectors} ({time_words(small.latency_ms)} and "
        f"{time_words(usual.latency_ms)}): the log's block size does not matter here."
    )
    return Finding("log-small-blocks", LOG, what, Severity.GOOD, 0.9)


def _data(matrix: Matrix) -> Iterator[Finding]:
    reads = matrix.named("random read")
    alone, deepest = reads[0], reads[-1]
    slow = alone.latency_ms > 15
    grade = Severity.GOOD if alone.latency_ms <= 2 else Severity.WARNING if slow else Severity.NOTE
    what = f"A single 8 KiB random read takes {time_words(alone.latency_ms)} (as {tier(alone.latency_ms)})."
    yield Finding("data-read", DATA, what, grade, 0.9)
    bounds = knee(matrix)
    most = max(reads, key=lambda cell: cell.iops)
    gains = deepest is most and (len(reads) < 2 or deepest.iops > _GAINS * reads[-2].iops)
    if bounds is None and gains:
        what = (
            f"Random reads still gain at {deepest.step.depth} outstanding ({deepest.iops:,.0f} IOPS at "
            f"{time_words(deepest.latency_ms)}): no ceiling was reached."
        )
        yield Finding("data-knee", DATA, what, Severity.GOOD, 0.8)
    else:
        what = _knee_words(bounds, most) if bounds is not None else _bend_words(reads, most)
        yield Finding("data-knee", DATA, what, Severity.NOTE, 0.8)
    if bounds is not None and (cap := _round_cap(reads)) is not None:
        what = f"The plateau is flat at {cap:,} IOPS, a round number: it looks like a provisioned limit."
        yield Finding("data-limit", DATA, what, Severity.NOTE, 0.7)
    scans = matrix.named("sequential read")
    if scans and scans[0].mb_per_s > 0:
        what = (
            f"Sequential reads of 64 KiB reach {scans[0].mb_per_s:,.0f} MB/s: a full scan or backup of 100 GB takes "
            f"{100_000 / scans[0].mb_per_s / 60:.2g} min at best."
        )
        yield Finding("data-scan", DATA, what, Severity.NOTE, 0.9)


def _knee_words(bounds: Bounds, most: Cell) -> str:
    """Where the bounds meet, and what is beyond."""
    ceiling = max(bounds.ceiling, most.iops)
    return (
        f"The knee is near {bounds.n_star:.2g} outstanding (Little's law): beyond it the disk gives at most "
        f"{ceiling:,.0f} IOPS, and more outstanding I/O only waits."
    )


def _bend_words(reads: tuple[Cell, ...], most: Cell) -> str:
    """Rates that no two bounds describe, as they were measured: they creep on, or fall again."""
    enough = next(cell for cell in reads if cell.iops >= most.iops / _GAINS)
    highest = f"{most.iops:,.0f} IOPS at {most.step.depth} outstanding, {time_words(most.latency_ms)} each"
    if enough is most:
        return f"There is no sharp knee; the highest rate measured is {highest}."
    return (
        f"There is no sharp knee: {enough.step.depth} outstanding give {enough.iops:,.0f} IOPS at "
        f"{time_words(enough.latency_ms)}; the highest rate measured is {highest}."
    )


def _round_cap(reads: tuple[Cell, ...]) -> int | None:
    """A multiple of 500 IOPS, up to 20,000, that the last two depths both meet within half a per cent."""
    cap = round(reads[-1].iops / 500) * 500
    flat = 0 < cap <= 20_000 and all(abs(cell.iops / cap - 1) < 0.005 for cell in reads[-2:])
    return cap if flat else None
