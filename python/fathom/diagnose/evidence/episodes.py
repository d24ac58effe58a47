"""Windows of a log that differ: change points of latency and load of the busiest disks, each with its means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Floats
    from fathom.diagnose.evidence.system import System

_SHORTEST = 5
_MOST_POINTS = 600
_MOST_DEVICES = 2
_PENALTY = 20.0
"""Gain in squared noise that a change must bring, times the logarithm of the number of moments."""


@dataclass(frozen=True)
class Episode:
    """One window of one device.

    Attributes:
        device: its name.
        start_ns, end_ns: nanoseconds since 1970, UTC.
        iops, bytes_per_s, latency_s, outstanding: means over the window; NaN where not recorded.
    """

    device: str
    start_ns: int
    end_ns: int
    iops: float
    bytes_per_s: float
    latency_s: float
    outstanding: float


def episodes(system: System) -> Iterator[Episode]:
    """The episodes of the busiest volumes, in time; a device that never changes has one."""
    for device in system.nearest[:_MOST_DEVICES]:
        for first, last in _cuts(device):
            chosen = np.zeros(len(device.times_ns), dtype=bool)
            chosen[first:last] = True
            start, end = device.span(chosen)
            load = device.load[chosen]
            level = float(np.nanmean(load)) if np.isfinite(load).any() else float("nan")
            iops, rate, latency = (device.mean(metric, chosen) for metric in ("iops", "bytes_per_s", "latency_s"))
            if start is not None and end is not None:
                yield Episode(device.name, start, end, iops, rate, latency, level)


def _cuts(device: Device) -> list[tuple[int, int]]:
    """First and last index of each window."""
    count = len(device.times_ns)
    if count < 4 * _SHORTEST:
        return [(0, count)] if count else []
    signal = np.column_stack([_standard(device.values(metric)) for metric in ("iops", "latency_s")])
    step = -(-count // _MOST_POINTS)
    thin = np.array([signal[place : place + step].mean(axis=0) for place in range(0, count, step)])
    ends = [*sorted(_changes(thin, 0, len(thin))), len(thin)]
    places = [0, *(min(count, end * step) for end in ends)]
    return [(a, b) for a, b in pairwise(places) if b > a]


def _changes(signal: Floats, first: int, last: int) -> list[int]:
    """Change points of the mean by binary segmentation: the best cut of each window, while it is worth its penalty."""
    part = signal[first:last]
    count = len(part)
    if count < 2 * _SHORTEST:
        return []
    before = np.arange(_SHORTEST, count - _SHORTEST + 1)
    sums, total = np.cumsum(part, axis=0), part.sum(axis=0)
    left = sums[before - 1] / before[:, None]
    right = (total - sums[before - 1]) / (count - before)[:, None]
    gain = (before * (count - before) / count) * ((left - right) ** 2).sum(axis=1)
    best = int(np.argmax(gain))
    if gain[best] < _PENALTY * np.log(len(signal)):
        return []
    cut = first + int(before[best])
    return [*_changes(signal, first, cut), cut, *_changes(signal, cut, last)]


def _standard(values: Floats) -> Floats:
    """Logarithms in units of their noise from moment to moment, missing ones at the median."""
    logs = np.log1p(np.nan_to_num(values, nan=np.nanmedian(values) if np.isfinite(values).any() else 0.0) * 1e3)
    noise = float(np.median(np.abs(np.diff(logs)))) / 0.954 if len(logs) > 1 else 0.0
    scaled: Floats = (logs - np.median(logs)) / max(noise, 0.02)
    return scaled
