"""What each machine of a load on many disks got: disks named `MACHINE-DISK`, added up by machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_DATA = ("read", "write")
_MB = 1e6


@dataclass(frozen=True)
class Machine:
    """One machine in one run.

    Attributes:
        name: what its disks' names begin with.
        disks: how many it has.
        iops: reads and writes per second.
        mb_per_s: of both.
        read_latency_ms: mean; None without reads.
        write_latency_ms: mean; None without writes.
    """

    name: str
    disks: int
    iops: float
    mb_per_s: float
    read_latency_ms: float | None
    write_latency_ms: float | None


def machines(driven: tuple[str, ...], volumes: Mapping[str, Any], iops: float | None) -> tuple[Machine, ...]:
    """The machines of a run, by name; empty unless there are several and each disk is named after one.

    Args:
        driven: volumes that the workload was given.
        volumes: what was counted, by volume (`volumes.json`).
        iops: of the whole run, which tells how long the measured phase was.
    """
    split = {name: name.rpartition("-") for name in driven}
    if not all(machine and disk for machine, _, disk in split.values()) or not iops:
        return ()
    of: dict[str, list[str]] = {}
    for name, (machine, _, _) in split.items():
        of.setdefault(machine, []).append(name)
    if len(of) < 2:
        return ()
    counts = {name: _counted(volumes.get(name)) for name in driven}
    seconds = sum(count for found in counts.values() for count, _, _ in found.values()) / iops
    return tuple(_machine(name, [counts[disk] for disk in disks], seconds) for name, disks in of.items())


def _counted(node: Any) -> dict[str, tuple[int, int, float]]:
    """Requests, bytes and summed latency in ns of each kind of request that moved data."""
    found = {}
    for kind in _DATA:
        one = node.get(kind) if isinstance(node, dict) else None
        if isinstance(one, dict) and one.get("count"):
            latency = (one.get("latency_mean_ns") or 0.0) * one["count"]
            found[kind] = (int(one["count"]), int(one.get("bytes") or 0), float(latency))
    return found


def _machine(name: str, disks: list[dict[str, tuple[int, int, float]]], seconds: float) -> Machine:
    def total(kind: str, place: int) -> float:
        return sum(disk[kind][place] for disk in disks if kind in disk)

    def latency(kind: str) -> float | None:
        count = total(kind, 0)
        return total(kind, 2) / count / 1e6 if count else None

    requests = sum(total(kind, 0) for kind in _DATA)
    moved = sum(total(kind, 1) for kind in _DATA)
    return Machine(name, len(disks), requests / seconds, moved / seconds / _MB, latency("read"), latency("write"))
