"""Writes PDH logs as Windows and other tools do, for tests: every trap that real ones have."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

READS = r"\\SQL01\PhysicalDisk(1 D:)\Disk Reads/sec"
LATENCY = r"\\SQL01\PhysicalDisk(1 D:)\Avg. Disk sec/Read"
QUEUE = r"\\SQL01\PhysicalDisk(1 D:)\Current Disk Queue Length"
THREE = (READS, LATENCY, QUEUE)
START = datetime(2026, 3, 2, 21, 59, 45, 123000)
FIRST_UTC = "2026-03-03T02:59:45.123000Z"


def stamps(count: int, start: datetime = START, step_s: float = 15.0) -> list[str]:
    """Stamps as Windows writes them."""
    moments = [start + timedelta(seconds=step_s * number) for number in range(count)]
    return [f"{moment:%m/%d/%Y %H:%M:%S}.{moment.microsecond // 1000:03}" for moment in moments]


def pdh(
    rows: Sequence[Sequence[str]],
    paths: Sequence[str] = THREE,
    *,
    zone: str = "(PDH-CSV 4.0) (Eastern Standard Time)(300)",
    separator: str = ",",
    times: Sequence[str] | None = None,
) -> str:
    """A log of cells, every cell in quotes."""
    times = stamps(len(rows)) if times is None else times
    lines = [[zone, *paths], *([time, *row] for time, row in zip(times, rows, strict=True))]
    return "".join(separator.join(f'"{cell}"' for cell in line) + "\r\n" for line in lines)
