"""Traces of single requests, as intervals of the table: rates, sizes, latencies, outstanding I/O, alignment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.diagnose.clock import NS
from fathom.diagnose.metrics import Layer
from fathom.diagnose.table import Block, Rows, Series

INTERVAL_NS = NS
MOST_INTERVALS = 1_000_000
"""A trace of eleven days in seconds; times beyond are damage."""


@dataclass(frozen=True)
class Requests:
    """Requests of one disk, in any order; all arrays of one length.

    Attributes:
        start: ns since 1970.
        latency: ns; NaN where the trace does not say.
        size, offset: bytes.
        write: True for writes, False for reads.
    """

    start: NDArray[np.int64]
    latency: NDArray[np.float64]
    size: NDArray[np.int64]
    offset: NDArray[np.int64]
    write: NDArray[np.bool_]


def intervals(host: str | None, device: str, layer: Layer, requests: Requests) -> Iterator[Block]:
    """The requests per second of time, by the moment of completion (of submission where latency is not known)."""
    order = np.argsort(requests.start, kind="stable")
    start, latency = requests.start[order], requests.latency[order]
    size, offset, write = requests.size[order], requests.offset[order], requests.write[order]
    known = np.isfinite(latency)
    end = start + np.where(known, latency, 0.0).astype(np.int64)
    base = int(start[0]) // INTERVAL_NS * INTERVAL_NS
    bucket = (end - base) // INTERVAL_NS
    bucket = np.clip(bucket, 0, MOST_INTERVALS)
    sequential = _sequential(offset, size, write)
    outstanding = _outstanding(start, end, base, int(bucket.max()) + 1) if known.all() else None
    rows = Rows()
    which = np.argsort(bucket, kind="stable")
    edges = np.flatnonzero(np.diff(bucket[which])) + 1
    for members in np.split(which, edges):
        number = int(bucket[members[0]])
        time = base + (number + 1) * INTERVAL_NS
        writes = write[members]

        def add(metric: str, value: float | None, at: int = time) -> None:
            rows.add(at, INTERVAL_NS / NS, Series(host, device, layer, metric), value)

        for kind, chosen in (("read", members[~writes]), ("write", members[writes])):
            add(f"{kind}_iops", len(chosen) * NS / INTERVAL_NS)
            add(f"{kind}_bytes_per_s", float(size[chosen].sum()) * NS / INTERVAL_NS)
            if len(chosen):
                add(f"{kind}_size_bytes", float(size[chosen].mean()))
                if known[chosen].all():
                    add(f"{kind}_latency_s", float(latency[chosen].mean()) / NS)
                    add(f"{kind}_latency_p99_s", float(np.quantile(latency[chosen], 0.99)) / NS)
        add("sequential_percent", 100.0 * float(sequential[members].mean()))
        if writes.any():
            chosen = members[writes]
            whole, between = size[chosen] % 4096 == 0, offset[chosen] % 4096 != 0
            unaligned = ~whole | between
            add("unaligned_write_percent", 100.0 * float(unaligned.mean()))
            add("shifted_write_percent", 100.0 * float((whole & between).mean()))
        if outstanding is not None:
            add("outstanding_mean", float(outstanding[number]))
        yield from rows.take_if()
    yield from rows.take()


def _sequential(offset: NDArray[np.int64], size: NDArray[np.int64], write: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Requests that start where the one before of the same direction ended."""
    found = np.zeros(len(offset), dtype=bool)
    for chosen in (np.flatnonzero(write), np.flatnonzero(~write)):
        found[chosen[1:]] = offset[chosen[1:]] == (offset[chosen] + size[chosen])[:-1]
    return found


def _outstanding(start: NDArray[np.int64], end: NDArray[np.int64], base: int, count: int) -> NDArray[np.float64]:
    """Mean number of requests between start and end, per interval: the growth of the summed time until its edges."""
    edges = base + np.arange(count + 1, dtype=np.int64) * INTERVAL_NS

    def summed(moments: NDArray[np.int64]) -> NDArray[np.float64]:
        ordered = np.sort(moments)
        sums = np.concatenate(([0.0], np.cumsum((ordered - base).astype(np.float64))))
        before = np.searchsorted(ordered, edges, side="right")
        return np.asarray(before * (edges - base).astype(np.float64) - sums[before])

    return np.maximum(0.0, np.diff(summed(start) - summed(end))) / INTERVAL_NS
