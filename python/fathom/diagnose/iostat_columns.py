"""iostat's columns as metrics, a whole table at once: a day of reports has millions of numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.metrics import Layer
from fathom.diagnose.table import Block, Series

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

COLUMNS: dict[str, tuple[str, float]] = {
    "r/s": ("read_iops", 1), "w/s": ("write_iops", 1), "d/s": ("discard_iops", 1), "f/s": ("flush_iops", 1),
    "rkB/s": ("read_bytes_per_s", 1024), "wkB/s": ("write_bytes_per_s", 1024), "dkB/s": ("discard_bytes_per_s", 1024),
    "rMB/s": ("read_bytes_per_s", 1 << 20), "wMB/s": ("write_bytes_per_s", 1 << 20),
    "dMB/s": ("discard_bytes_per_s", 1 << 20),
    "rsec/s": ("read_bytes_per_s", 512), "wsec/s": ("write_bytes_per_s", 512),
    "rrqm/s": ("read_merges_per_s", 1), "wrqm/s": ("write_merges_per_s", 1),
    "r_await": ("read_latency_s", 1e-3), "w_await": ("write_latency_s", 1e-3), "d_await": ("discard_latency_s", 1e-3),
    "f_await": ("flush_latency_s", 1e-3), "await": ("latency_s", 1e-3),
    "rareq-sz": ("read_size_bytes", 1024), "wareq-sz": ("write_size_bytes", 1024), "areq-sz": ("size_bytes", 1024),
    "avgrq-sz": ("size_bytes", 512),
    "aqu-sz": ("outstanding_mean", 1), "avgqu-sz": ("outstanding_mean", 1),
    "util": ("busy_percent", 1), "%util": ("busy_percent", 1),
    # Without -x: transfers and amounts only.
    "tps": ("iops", 1), "kB_read/s": ("read_bytes_per_s", 1024), "kB_wrtn/s": ("write_bytes_per_s", 1024),
    "kB_dscd/s": ("discard_bytes_per_s", 1024),
    "MB_read/s": ("read_bytes_per_s", 1 << 20), "MB_wrtn/s": ("write_bytes_per_s", 1 << 20),
    "Blk_read/s": ("read_bytes_per_s", 512), "Blk_wrtn/s": ("write_bytes_per_s", 512),
}  # fmt: skip
"""iostat's columns: metric, and what a unit of iostat's is in the metric's."""

_MEANS_OF_ALL = frozenset({"latency_s", "size_bytes"})
_EVENTS = (
    (_MEANS_OF_ALL, ("iops",)),
    (_MEANS_OF_ALL, ("read_iops", "write_iops")),
    (frozenset({"read_latency_s", "read_size_bytes"}), ("read_iops",)),
    (frozenset({"write_latency_s", "write_size_bytes"}), ("write_iops",)),
    (frozenset({"discard_latency_s"}), ("discard_iops",)),
    (frozenset({"flush_latency_s"}), ("flush_iops",)),
)
"""Means that iostat prints as 0 where nothing was counted, and what counts: there they are missing."""


class Tables:
    """Rows of devices, those with the same columns together."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, tuple[str, ...]], list[tuple[int, float, Sequence[float]]]] = {}

    @property
    def columns(self) -> set[str]:
        """Every column that a row had."""
        return {column for _, columns in self._rows for column in columns}

    def add(
        self, time_ns: int, seconds: float | None, device: str, columns: tuple[str, ...], values: Sequence[float]
    ) -> None:
        """One row; NaN is missing."""
        length = math.nan if seconds is None else seconds
        self._rows.setdefault((device, columns), []).append((time_ns, length, values))

    def take(self, host: str | None, without: Mapping[str, Collection[str]]) -> Iterator[Block]:
        """All rows as blocks.

        Args:
            host: whose devices they are.
            without: device to metrics that it does not have.
        """
        for (device, columns), rows in self._rows.items():
            times, seconds, values = zip(*rows, strict=True)
            found = _metrics(columns, np.array(values, dtype=np.float64))
            kept = {metric: each for metric, each in found.items() if metric not in without.get(device, ())}
            if kept:
                yield Block(
                    tuple(Series(host, device, Layer.GUEST_DISK, metric) for metric in kept),
                    np.array(times, dtype=np.int64), np.array(seconds, dtype=np.float64),
                    np.column_stack(list(kept.values())),
                )  # fmt: skip


def _metrics(columns: Sequence[str], values: Floats) -> dict[str, Floats]:
    """What the columns say, each in the metric's unit; a mean of no events is missing."""
    found = {
        COLUMNS[name][0]: values[:, place] * COLUMNS[name][1] for place, name in enumerate(columns) if name in COLUMNS
    }
    for metrics, rates in _EVENTS:
        known = [found[rate] == 0 for rate in rates if rate in found]
        if len(known) == len(rates):
            none = np.all(known, axis=0)
            found |= {metric: np.where(none, np.nan, found[metric]) for metric in metrics & found.keys()}
    return found
