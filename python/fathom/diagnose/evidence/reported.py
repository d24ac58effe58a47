"""Requests that a server reports as hanging, where no log shows what their disk did then: they keep it from being
cleared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.clock import NS
from fathom.diagnose.evidence.files import on_letter
from fathom.diagnose.long_requests import LongRequests, read_fact
from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System

_LOOKS_S = 300
"""How long before the message its requests may have been (MSSQLSERVER_833)."""
_SHOWN_S = 1.0
"""Latency of an interval from which it shows that some of its requests took over 15 s."""


def unseen(system: System) -> list[LongRequests]:
    """The messages for whose file and time the logs have no sample, each once."""
    return [each for each, longest_s in _told(system) if longest_s is None]


def hidden(system: System) -> list[LongRequests]:
    """The messages of requests that the samples of their file and disk do not show, each once."""
    return [each for each, longest_s in _told(system) if longest_s is not None and longest_s < _SHOWN_S]


def _told(system: System) -> Iterator[tuple[LongRequests, float | None]]:
    """Every message with the longest latency of its file or disk then; None without a sample."""
    for each in dict.fromkeys(read_fact(f.value, f.subject) for f in system.facts if f.name == "long_requests"):
        yield each, max((s for device in system.devices if (s := _longest(each, device)) is not None), default=None)


def _longest(message: LongRequests, device: Device) -> float | None:
    """The longest latency of a device at the time of a message, where it is the file or the disk of its letter."""
    is_file = device.layer is Layer.DATABASE_FILE and (device.device or "").casefold() == message.file.casefold()
    is_disk = device.layer in (Layer.GUEST_DISK, Layer.GUEST_VOLUME) and on_letter(message.file, device)
    if message.at_ns is None or not (is_file or is_disk):
        return None
    begins = device.times_ns - (device.seconds * NS).astype(np.int64)
    then = (device.times_ns >= message.at_ns - _LOOKS_S * NS) & (begins <= message.at_ns)
    then &= np.isfinite(device.values("iops"))
    return float(np.nanmax(device.values("latency_s")[then], initial=0.0)) if then.any() else None
