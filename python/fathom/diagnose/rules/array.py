"""D4: the array or the fabric is slow: latency arises below the hypervisor's queues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.load import FEWEST, middle
from fathom.diagnose.evidence.words import seen, share, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags, Floats
    from fathom.diagnose.evidence.system import System

SLOW_S = 0.020
_PART, _OUTSTANDING = 0.05, 0.5
"""Share of the moments with I/O, and commands outstanding in them, from which people wait for it."""
_KERNEL_S = 0.002
"""KAVG from which commands wait in the host as well."""
_AS_SLOW = 0.6
"""Part of the latency beyond doubt from which other moments belong to the same slow time."""
_LARGE_BYTES = 128 * 1024
"""Mean size of commands that take long for their size, in a time in which the others are not slow."""


def examine(system: System) -> Iterator[Finding]:
    """Every device of the hypervisor."""
    for lun in system.of(Layer.HOST_DEVICE):
        device, kernel = _below(lun), np.nan_to_num(lun.values("kernel_latency_s"))
        used = (lun.values("iops") > 0) & np.isfinite(device)
        slow = used & (device > SLOW_S) & (kernel < _KERNEL_S) & ~(lun.values("queued") > 0)
        if slow.sum() < max(FEWEST, _PART * used.sum()) or middle((lun.values("iops") * device)[slow]) < _OUTSTANDING:
            continue
        if slow.sum() < 0.5 * used.sum() and middle(lun.values("size_bytes")[slow]) >= _LARGE_BYTES:
            continue
        harm = of_storage(system)
        # As slow as what is beyond doubt: the moments above a threshold alone are its tail.
        slow = used & (device >= _AS_SLOW * middle(device[slow])) & (kernel < _KERNEL_S) & ~(lun.values("queued") > 0)
        yield Finding(
            "D4",
            lun.name,
            f"The array or fabric below {lun.name} is slow: {time(middle(device[slow]))} a command outside of "
            "the host.",
            harm.severity,
            0.8 if lun.has("device_latency_s") else 0.65,
            (seen(lun, f"{_words(lun, slow)} in {share(slow.sum() / used.sum())} of the moments with I/O.", slow),),
            harm.sentence,
            "large transfers: judge them by MB/s",
            (
                Remedy(
                    "Give the storage team the times, the LUN's id and the host's ports; ask for its cache, "
                    "queue-full and port counters.",
                    (
                        f"esxcli storage core path list -d {lun.name}"
                        if lun.has("device_latency_s")
                        else "esxcli storage nfs list",
                    ),
                    None,
                    "DAVG below 5 ms.",
                ),
            ),
        )


def _below(lun: Device) -> Floats:
    """Time below the queues of the hypervisor. A datastore on NFS has no queue: what the guest sees is the server."""
    if lun.has("device_latency_s"):
        return lun.values("device_latency_s")
    queues = lun.has("queued") or lun.has("queue_limit") or not lun.has("outstanding")
    return np.full(len(lun.times_ns), np.nan) if queues else lun.values("latency_s")


def _words(lun: Device, slow: Flags) -> str:
    below = time(middle(_below(lun)[slow]))
    if not lun.has("device_latency_s"):
        return f"GAVG {below} on a datastore without a queue of the host's (NFS)"
    return f"DAVG {below}, KAVG {time(middle(np.nan_to_num(lun.values('kernel_latency_s'))[slow]))}, nothing queued,"


RULE = Rule(
    "D4",
    "slow array or fabric",
    Kind.CAUSE,
    (
        Need(
            (Layer.HOST_DEVICE,), ("device_latency_s", "latency_s"), "esxtop in batch mode: fathom record --print esxi"
        ),
    ),
    examine,
)
