"""Latencies in milliseconds where seconds belong: the queue then is a thousandth of what rate and latency imply."""

from __future__ import annotations

import dataclasses

import numpy as np

from fathom.diagnose.evidence.device import Device, Rescaled
from fathom.diagnose.evidence.load import implied_load, middle, worked

FEWEST = 20
_LEAST, _MOST = 300, 3000
"""How far from 1,000 the ratio may be: requests complete in one interval and were counted in another."""


def in_seconds(device: Device) -> Device:
    """The device with all latencies divided by 1,000 where its queue says that they are milliseconds."""
    stated = device.measured.get("outstanding_mean")
    counted = device.values("outstanding") if stated is None else stated
    implied = implied_load(device)
    both = worked(device) & np.isfinite(implied) & np.isfinite(counted)
    if both.sum() < FEWEST:
        return device
    needs, says = middle(implied[both]), float(np.mean(counted[both]))
    if not (says > 0 and _LEAST <= needs / says <= _MOST):
        return device
    measured = {name: each / 1000 if name.endswith("latency_s") else each for name, each in device.measured.items()}
    return dataclasses.replace(device, measured=measured, rescaled=Rescaled(needs, says, both), _derived={})
