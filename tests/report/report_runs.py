"""Run directories for the report's tests: synthetic samples, histograms and counters in the format of `record.py`."""

from __future__ import annotations

import hashlib
import math
import random
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fathom.results import Level, Run


@dataclass(frozen=True)
class Load:
    """What one run did on average: reads and writes per second, their mean latency in ms, request size in bytes."""

    reads: float
    writes: float
    read_ms: float
    write_ms: float
    size: int = 8192

    @property
    def outstanding(self) -> float:
        return (self.reads * self.read_ms + self.writes * self.write_ms) / 1e3


ENVIRONMENT = {
    "machine": {
        "host": "db-host-01.example.net",
        "architecture": "x86_64",
        "kernel": "6.18.0",
        "system": "Debian GNU/Linux 12",
        "cpu": "AMD EPYC 7R13",
        "cpus": 2,
        "memory_bytes": 25769803776,
        "virtual": True,
    },
    "disk": {
        "directory": "/home/alice/results",
        "file_system": "ext4",
        "mount_options": "rw,relatime",
        "source": "/dev/vda1",
        "device": {
            "name": "vda",
            "model": "Virtual disk",
            "serial": "vol0a1b2c3d4",
            "scheduler": "none",
            "queue_depth": 128,
        },
    },
    "versions": {"python": "3.11.7", "numpy": "2.4.6", "polars": "2.1.0"},
    "build": {"version": "0.1.0", "commit": "0123abc", "profile": "release"},
}


def make_run(
    root: Path,
    variant: dict[str, Level],
    number: int,
    order: int,
    load: Load,
    *,
    seconds: int = 60,
    ramp: int = 10,
    stall: bool = False,
    gap: bool = False,
    **changes: object,
) -> Run:
    """A finished run with samples and histograms in its own directory."""
    rng = random.Random(f"{variant}{number}")
    name = hashlib.blake2b(f"{variant}{number}".encode(), digest_size=10).hexdigest()
    directory = root / "runs" / f"{order:04}-{name}"
    directory.mkdir(parents=True)
    _samples(load, rng, seconds, ramp, stall, gap).write_parquet(directory / "samples.parquet")
    _histograms(load, seconds).write_parquet(directory / "histograms.parquet")
    rate = load.reads + load.writes
    mean = (load.reads * load.read_ms + load.writes * load.write_ms) / rate
    metrics: dict[str, float | None] = {
        "iops": rate,
        "read_iops": load.reads,
        "write_iops": load.writes,
        "mb_per_s": rate * load.size / 1e6,
        "latency_ms": mean,
        "read_latency_ms": load.read_ms,
        "write_latency_ms": load.write_ms,
        "latency_p50_ms": mean * 0.8,
        "latency_p99_ms": mean * 4.1,
        "latency_p999_ms": mean * 7.5,
        "outstanding": load.outstanding,
    }
    fields: dict[str, object] = {
        "reason": None,
        "message": None,
        "seed": 1000 + number,
        "digest": None,
        "started": f"2026-11-2{number % 9}T10:{order:02}:00Z",
        "seconds": float(seconds + ramp),
        "directory": directory,
        "environment": ENVIRONMENT | {"moment": {"load_average": [0.1 * order]}},
        "volumes": _volumes(load, seconds),
    }
    return Run(name, variant, number, order, "ok", metrics, **(fields | changes))  # type: ignore[arg-type]


def _samples(load: Load, rng: random.Random, seconds: int, ramp: int, stall: bool, gap: bool) -> pl.DataFrame:
    rows = []
    for second in range(-ramp, seconds):
        if gap and 20 <= second < 26:
            continue
        warm = min(1.0, 0.35 + 0.65 * (second + ramp) / (ramp * 1.2)) if ramp else 1.0
        breath = 1 + 0.05 * math.sin(second / 7) + rng.gauss(0, 0.025)
        slow = 6.0 if stall and 33 <= second < 36 else 1.0
        for node in ("workload", "data"):
            for op, rate, latency in (("read", load.reads, load.read_ms), ("write", load.writes, load.write_ms)):
                done = round(rate * warm * breath / slow)
                ns = latency * 1e6 * slow / breath
                nothing = done == 0
                rows.append(
                    {
                        "t_s": float(second),
                        "seconds": 1.0,
                        "phase": "ramp" if second < 0 else "measure",
                        "node": node,
                        "op": op,
                        "count": done,
                        "bytes": done * load.size,
                        "latency_mean_ns": None if nothing else ns,
                        "latency_p50_ns": None if nothing else ns * 0.8,
                        "latency_p99_ns": None if nothing else ns * 4,
                        "latency_max_ns": None if nothing else ns * 9,
                        "waiting_mean_ns": None if nothing else ns * 0.3,
                        "outstanding_mean": load.outstanding * (0.97 + rng.random() * 0.06),
                    }
                )
    return pl.DataFrame(rows, infer_schema_length=None)


def _histograms(load: Load, seconds: int) -> pl.DataFrame:
    """Log-normal latencies in buckets of 4 %."""
    rows = []
    for op, rate, mean in (("read", load.reads, load.read_ms), ("write", load.writes, load.write_ms)):
        total, sigma, below = rate * seconds, 0.6, 0
        median, low = mean * 1e6 / math.exp(0.18), 1
        while below < total - 0.5 and total:
            high = max(low + 1, int(low * 1.04))
            share = 0.5 * (1 + math.erf(math.log(high / median) / (sigma * math.sqrt(2))))
            count = round(total * share) - below
            if count:
                rows.append(
                    {"node": "workload", "op": op, "measure": "latency", "low": low, "high": high, "count": count}
                )
            below, low = below + count, high + 1
    return pl.DataFrame(rows)


def _volumes(load: Load, seconds: int) -> dict[str, object]:
    counters = {
        "read": {
            "count": round(load.reads * seconds),
            "bytes": round(load.reads * seconds * load.size),
            "errors": 0,
            "latency_mean_ns": load.read_ms * 1e6,
            "waiting_mean_ns": load.read_ms * 3e5,
        },
        "write": {
            "count": round(load.writes * seconds),
            "bytes": round(load.writes * seconds * load.size),
            "errors": 0,
            "latency_mean_ns": load.write_ms * 1e6,
            "waiting_mean_ns": load.write_ms * 3e5,
        },
    }
    return {
        name: {"kind": kind, "outstanding_mean": load.outstanding, "outstanding_max": 40, **counters}
        for name, kind in (("data", "throttle"), ("ebs", "model"))
    }
