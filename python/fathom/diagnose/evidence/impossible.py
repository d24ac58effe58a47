"""Latencies that cannot be: no request takes longer than the log is. A digit too many in a file makes such a value."""

from __future__ import annotations

import dataclasses

import numpy as np

from fathom.diagnose.clock import NS
from fathom.diagnose.evidence.device import Device, Impossible

_LEAST_S = 60.0
"""Length of a log below which requests may well have begun before it."""


def without_impossible(device: Device) -> Device:
    """The device without any latency in moments of which one is longer than the log."""
    names = [name for name in device.measured if name.endswith("latency_s")]
    if not names:
        return device
    begin = device.times_ns[0] - device.seconds[0] * NS
    length = max(float(device.times_ns[-1] - begin) / NS, _LEAST_S)
    longest = np.fmax.reduce([device.measured[name] for name in names])
    chosen = longest > length
    if not chosen.any():
        return device
    # Of a damaged line the other latencies are doubtful as well, and the mean of reads and writes needs both.
    kept = {name: np.where(chosen, np.nan, each) if name in names else each for name, each in device.measured.items()}
    measured = {name: each for name, each in kept.items() if np.isfinite(each).any()}
    found = Impossible(chosen, float(longest[chosen].max()), length)
    return dataclasses.replace(device, measured=measured, impossible=found, _derived={})
