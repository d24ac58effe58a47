"""A small queueing model of disks, interval by interval, with noise and drift: what counters would have shown.

It is a model of means (Little's law and the bounds of operational analysis), not a simulation of single requests, so
that a thousand cases take minutes. Rules were written against the research notes, not against this file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from make_nfsiostat import Load

Floats = np.ndarray
START = datetime(2026, 3, 2, 22, 0, 0)
"""When every case begins, UTC."""


@dataclass
class Disk:
    """One disk's counters, one value per interval: rates in 1/s, latencies in s, sizes in bytes."""

    name: str
    reads: Floats
    writes: Floats
    read_s: Floats
    write_s: Floats
    read_bytes: Floats
    write_bytes: Floats
    queue: Floats
    mean_queue: Floats
    flushes: Floats | None = None
    flush_s: Floats | None = None


@dataclass
class Trace:
    """Single requests of one disk: start in s, latency in s, size and offset in bytes."""

    start: Floats
    latency: Floats
    size: Floats
    offset: Floats
    write: Floats


@dataclass
class Case:
    """One case.

    Attributes:
        labels: rules any of which may come first.
        disks: as the guest sees them.
        interval_s: of the log.
        counters: paths of further Windows counters (without the host) to values.
        devices: esxtop's counters by device: counter to values.
        cloud: CloudWatch label to values (per interval as CloudWatch states them).
        waits: snapshots of sys.dm_os_wait_stats: name to ms waited per interval.
        database_files: as sys.dm_io_virtual_file_stats counts them; the name is the path.
        checkpoint_pages: pages that PostgreSQL's checkpoints write per second.
        trace: single requests.
        mounts: of NFS: mount point to what it does in each interval.
        facts: a volume as `aws ec2 describe-volumes` shows it.
        allocation: drive letter to allocation unit in bytes.
        platform: "aws" or "azure", whose kernel and names of disks a host with Linux has; None for a host of one's own.
        linux_only, windows_only: formats that can hold the case's proof.
        among: a rule that must be among the findings, whatever comes first; None for none.
    """

    labels: tuple[str, ...]
    disks: list[Disk] = field(default_factory=list)
    interval_s: float = 15.0
    counters: dict[str, Floats] = field(default_factory=dict)
    devices: dict[str, dict[str, Floats]] = field(default_factory=dict)
    cloud: dict[str, Floats] = field(default_factory=dict)
    waits: dict[str, Floats] = field(default_factory=dict)
    database_files: list[Disk] = field(default_factory=list)
    checkpoint_pages: Floats | None = None
    trace: Trace | None = None
    mounts: dict[str, list[Load]] = field(default_factory=dict)
    facts: dict[str, object] | None = None
    allocation: dict[str, int] = field(default_factory=dict)
    cpu: Floats | None = None
    platform: str | None = None
    linux_only: bool = False
    windows_only: bool = False
    among: str | None = None


class World:
    """Random numbers of one case."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = np.random.default_rng(seed)
        self.count = int(self.random.integers(60, 240))

    def noise(self, spread: float = 0.06) -> Floats:
        """Factors around 1, log-normal."""
        return np.exp(self.random.normal(0, spread, self.count))

    def demand(self, low: float, high: float) -> Floats:
        """Outstanding requests that are offered: a slow random walk between bounds, with drift over the log."""
        steps = np.cumsum(self.random.normal(0, 0.25, self.count)) + np.linspace(
            0, self.random.normal(0, 0.5), self.count
        )
        place = (steps - steps.min()) / max(float(np.ptp(steps)), 1e-9)
        return low * (high / low) ** place

    def uniform(self, low: float, high: float) -> float:
        """One number."""
        return float(self.random.uniform(low, high))

    def choice(self, values: tuple[float, ...]) -> float:
        """One of the values."""
        return float(self.random.choice(values))

    def chance(self, probability: float) -> bool:
        """Whether something is so."""
        return bool(self.random.random() < probability)

    def disk(
        self,
        name: str,
        load: Floats,
        latency: Floats,
        *,
        size: float | None = None,
        write_share: float | None = None,
        depth: float | None = None,
        tight: bool = False,
    ) -> Disk:
        """A disk with so many requests outstanding at such latency. `depth` caps the queue; `tight`: exact rates."""
        load = load if depth is None else np.minimum(load, depth)
        rate = load / latency
        if not tight:
            rate = rate * self.noise(0.02)
        part = self.uniform(0.05, 0.6) if write_share is None else write_share
        parts = np.clip(part * self.noise(0.1), 0, 1)
        size = self.choice((8192, 16384, 32768, 65536)) if size is None else size
        sizes = size * self.noise(0.08)
        queue = self.random.poisson(load).astype(float)
        ratio = self.noise(0.05)
        read_s, write_s = latency * ratio, latency * ratio
        if depth is not None:
            queue = np.where(load >= 0.97 * depth, depth, np.minimum(queue, depth))
        return Disk(
            name, rate * (1 - parts), rate * parts, read_s, write_s, sizes, sizes, queue, rate * latency * ratio
        )

    def quiet(self, name: str) -> Disk:
        """A disk that does little: the system's."""
        return self.disk(name, self.demand(0.01, 0.2), 0.001 * self.noise(0.2))

    def windows_waits(self, reads: float = 0.0, log: float = 0.0, locks: float = 0.0) -> dict[str, Floats]:
        """Sessions in SQL Server's waits, as its performance counters show them (ms per second)."""
        names = {"Page IO latch waits": reads, "Log write waits": log, "Lock waits": locks, "Network IO waits": 0.05}
        object_name = r"SQLServer:Wait Statistics(Cumulative wait time (ms) per second)"
        return {rf"{object_name}\{name}": 1000 * mean * self.noise(0.3) for name, mean in names.items()}
