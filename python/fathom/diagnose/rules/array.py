"""D4: the array or the fabric is slow: the time is spent below the hypervisor's queues."""

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
    from fathom.diagnose.evidence.system import System

SLOW_S = 0.020


def examine(system: System) -> Iterator[Finding]:
    """Every device of the hypervisor."""
    for lun in system.of(Layer.HOST_DEVICE):
        device, kernel = lun.values("device_latency_s"), np.nan_to_num(lun.values("kernel_latency_s"))
        used = (lun.values("iops") > 0) & np.isfinite(device)
        slow = used & (device > SLOW_S) & (kernel < 0.002) & ~(lun.values("queued") > 0)
        if (
            slow.sum() < FEWEST
            or slow.sum() < 0.2 * used.sum()
            or lun.mean("iops") * lun.mean("device_latency_s") < 0.5
        ):
            continue
        harm = of_storage(system)
        yield Finding(
            "D4",
            lun.name,
            f"The array or fabric below {lun.name} is slow: {time(middle(device[slow]))} a command outside of "
            "the host.",
            harm.severity,
            0.8,
            (
                seen(
                    lun,
                    f"DAVG {time(middle(device[slow]))}, KAVG {time(middle(kernel[slow]))}, nothing queued, in "
                    f"{share(slow.sum() / used.sum())} of the moments with I/O.",
                    slow,
                ),
            ),
            harm.sentence,
            "large transfers: judge them by MB/s",
            (
                Remedy(
                    "Give the storage team the times, the LUN's id and the host's ports; ask for its cache, "
                    "queue-full and port counters.",
                    (f"esxcli storage core path list -d {lun.name}",),
                    None,
                    "DAVG below 5 ms.",
                ),
            ),
        )


RULE = Rule(
    "D4",
    "slow array or fabric",
    Kind.CAUSE,
    (Need((Layer.HOST_DEVICE,), ("device_latency_s",), "esxtop in batch mode: fathom record --print esxi"),),
    examine,
)
