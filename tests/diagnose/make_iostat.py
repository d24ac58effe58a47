"""Writes iostat's extended reports of several disks, for tests."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

STEP_S = 5
START = datetime(2026, 3, 2, 22)


@dataclass(frozen=True)
class Disk:
    """One disk's reads and writes per second, their latency in ms, and how busy it was, one value per report."""

    reads: np.ndarray
    read_ms: np.ndarray
    writes: np.ndarray
    write_ms: np.ndarray
    percent: np.ndarray

    @property
    def load(self) -> np.ndarray:
        """Requests outstanding, by Little's law."""
        return (self.reads * self.read_ms + self.writes * self.write_ms) / 1e3


def disk(
    iops: np.ndarray,
    latency_ms: np.ndarray,
    write_ms: np.ndarray | None = None,
    *,
    writes: float = 0.3,
    percent: np.ndarray | float = 100.0,
) -> Disk:
    """A disk with this share of writes, which take as long as reads unless it is told."""
    busy = np.full(len(iops), percent) if isinstance(percent, float) else percent
    return Disk((1 - writes) * iops, latency_ms, writes * iops, latency_ms if write_ms is None else write_ms, busy)


def iostat(path: Path, disks: dict[str, Disk], *, kernel: str = "6.1.0-18-amd64", kib: float = 8.0) -> Path:
    """Reports of all disks, every five seconds."""
    lines = [f"Linux {kernel} (db1) \t2026-03-02 \t_x86_64_\t(8 CPU)\n"]
    for place in range(len(next(iter(disks.values())).reads)):
        lines += [
            f"{START + timedelta(seconds=STEP_S * place):%Y-%m-%dT%H:%M:%S+0000}",
            "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util",
        ]
        for name, each in disks.items():
            reads, writes = each.reads[place], each.writes[place]
            cells = (reads, writes, kib * reads, kib * writes, each.read_ms[place], each.write_ms[place])
            numbers = (*cells, each.load[place], each.percent[place])
            lines.append(f"{name} " + " ".join(f"{value:.2f}" for value in numbers))
        lines.append("")
    path.write_text("\n".join(lines))
    return path
