"""Requests that a kernel counts as outstanding for ever.

Some Linux kernels lose completions of the count of requests in flight: from then on iostat shows a queue that never
empties and a disk that is 100 % busy, though nothing is done. Time and number of the completed requests stay right, so
the queue follows from them. A stall does not look so: its requests complete in the end, and took the time of the stall.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from fathom.diagnose.evidence.device import Device
from fathom.diagnose.evidence.load import FEWEST

_LEAST = 0.9


def without_leak(device: Device) -> Device:
    """The device without counts that never fall to what rate and latency imply."""
    stated, rate, latency = device.measured.get("outstanding_mean"), device.get("iops"), device.get("latency_s")
    if stated is None or rate is None or latency is None:
        return device
    implied = np.where(rate == 0, 0.0, rate * latency)
    beyond = (stated - implied)[np.isfinite(stated) & np.isfinite(implied)]
    if len(beyond) < FEWEST or not np.nanmax(rate) > 0 or beyond.min() < _LEAST:
        return device
    kept = {name: each for name, each in device.measured.items() if name not in {"outstanding_mean", "outstanding"}}
    return dataclasses.replace(device, measured=kept, leaked=float(beyond.min()), _derived={})
