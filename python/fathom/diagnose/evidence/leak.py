"""Requests that a kernel counts as outstanding forever.

Some Linux kernels lose completions of the count of requests in flight: from then on iostat shows a queue that never
empties and a disk that is 100 % busy, though nothing is done. Time and number of the completed requests stay right, so
the queue follows from them. A stall does not look so: its requests complete in the end, and took the time of the stall.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from fathom.diagnose.evidence.device import Device
from fathom.diagnose.evidence.load import FEWEST, implied_load
from fathom.diagnose.metrics import Layer

_LEAST = 0.9


def without_leak(device: Device) -> Device:
    """The device without counts that never fall to what rate and latency imply."""
    if device.layer is not Layer.GUEST_DISK or "outstanding_mean" not in device.measured or not _tells_all(device):
        return device
    stated, rate = device.values("outstanding_mean"), device.values("iops")
    implied = implied_load(device)
    beyond = (stated - implied)[np.isfinite(stated) & np.isfinite(implied)]
    if len(beyond) < FEWEST or not np.nanmax(rate) > 0 or beyond.min() < _LEAST:
        return device
    kept = {name: each for name, each in device.measured.items() if name not in {"outstanding_mean", "outstanding"}}
    return dataclasses.replace(device, measured=kept, leaked=float(beyond.min()), _derived={})


def _tells_all(device: Device) -> bool:
    """Whether the latency of all requests is known: where only that of reads is, writes explain the queue."""
    known = device.measured
    if "iops" in known and "latency_s" in known:
        return True
    return all(
        f"{way}_iops" in known and (f"{way}_latency_s" in known or not np.nansum(known[f"{way}_iops"]))
        for way in ("read", "write")
    )
