"""Windows side by side: charts with equal axes, the means in a table, and what latency correlates with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fathom.diagnose.report import pictures
from fathom.diagnose.report.follows import quantities
from fathom.diagnose.report.windows import Window, parse
from fathom.errors import UsageError
from fathom.report.cells import quantity, text
from fathom.report.document import Block, Bullets, Cell, Column, Paragraph, Table
from fathom.report.format import MISSING, significant

if TYPE_CHECKING:
    from fathom.diagnose.diagnose import Diagnosis
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.report.clock import LogClock

_ROWS = (
    ("I/O rate", "IOPS", "iops", 1.0),
    ("Reads", "IOPS", "read_iops", 1.0),
    ("Writes", "IOPS", "write_iops", 1.0),
    ("Throughput", "MB/s", "bytes_per_s", 1e-6),
    ("Size of a request", "KiB", "size_bytes", 1 / 1024),
    ("Latency", "ms", "latency_s", 1e3),
    ("Read latency", "ms", "read_latency_s", 1e3),
    ("Write latency", "ms", "write_latency_s", 1e3),
    ("Outstanding, mean of the interval", "requests", "outstanding_mean", 1.0),
    ("Outstanding at its end", "requests", "outstanding", 1.0),
)
_HALF = 2


def parsed(compare: Sequence[str], device: Device | None, clock: LogClock) -> list[Window]:
    """The windows that were named.

    Raises:
        UsageError: one of them cannot be read, or the log has no sample in it or no device at all.
    """
    if compare and device is None:
        raise UsageError(
            "--compare: the logs hold no volume or disk", "fathom diagnose LOG --list shows what they hold"
        )
    return [parse(one, device, clock) for one in compare] if device is not None else []


def comparison(
    diagnosis: Diagnosis, device: Device | None, windows: Sequence[Window], clock: LogClock
) -> list[Block]:  # fmt: skip
    """Everything about the windows of a device; nothing without one."""
    if device is None or not windows:
        return []
    blocks: list[Block | None] = []
    if len(windows) == _HALF:
        caption = f"{device.name}, both windows from their start, equal axes. Times of day are {clock.name}."
        blocks.append(pictures.multiples(device, windows, caption))
        blocks.append(_means(device, windows))
    found = quantities(device)
    blocks.append(pictures.against(device, windows, found))
    blocks.append(Bullets(tuple(one.ruled_out for one in found if one.ruled_out)))
    blocks.append(pictures.load_plane(diagnosis.system, device, windows))
    kept = [block for block in blocks if block is not None and block != Bullets(())]
    return kept or [Paragraph("The log has neither rate nor latency of this device.")]


def _means(device: Device, windows: Sequence[Window]) -> Table:
    rows = []
    for title, unit, metric, scale in _ROWS:
        means = [device.mean(metric, window.of(device)) * scale for window in windows]
        if not any(math.isfinite(mean) and mean > 0 for mean in means):
            continue
        first, second = means
        times = second / first if math.isfinite(first) and first > 0 else math.nan
        rows.append(
            (
                text(f"{title}, {unit}"),
                *(quantity(mean, unit) for mean in means),
                Cell(f"{significant(times)}\u00a0×", times) if math.isfinite(times)
                else Cell(MISSING, None),
            )
        )  # fmt: skip
    heads = [Column(f"window_{letter.lower()}", letter, numeric=True) for letter in "AB"]  # fmt: skip
    columns = (Column("quantity", "Quantity"), *heads, Column("b_over_a", "B / A", numeric=True))
    named = ", ".join(f"{letter}: {window.label}" for letter, window in zip("AB", windows, strict=True))
    note = f"{named}. Mean latency is weighted by requests."
    return Table("windows", f"Means of {device.name}", columns, tuple(rows), note)
