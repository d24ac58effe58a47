"""D3: the queue of the hypervisor's device is full: commands wait in the kernel for a free slot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.load import middle
from fathom.diagnose.evidence.words import number, seen, share, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Every device of the hypervisor."""
    for lun in system.of(Layer.HOST_DEVICE):
        kernel, device = lun.values("kernel_latency_s"), lun.values("device_latency_s")
        limit, active = lun.values("queue_limit"), lun.values("outstanding")
        full = (lun.values("queued") > 0) & ~(active < 0.9 * limit) & (kernel > 0.001)
        used = lun.values("iops") > 0
        if full.sum() < 5 or full.sum() < 0.1 * used.sum() or not middle(kernel[full]) > 0.2 * middle(device[full]):
            continue
        harm, depth = of_storage(system), middle(limit[full])
        yield Finding(
            "D3",
            lun.name,
            f"The hypervisor's queue of {lun.name} is full: commands wait {time(middle(kernel[full]))} in the kernel.",
            harm.severity,
            0.85,
            (
                seen(
                    lun,
                    f"{number(middle(active[full]))} commands active of {number(depth)}, "
                    f"{number(middle(lun.values('queued')[full]))} queued, in "
                    f"{share(full.sum() / max(used.sum(), 1))} of the moments.",
                    full,
                ),
                seen(lun, f"KAVG {time(middle(kernel[full]))}, DAVG {time(middle(device[full]))}.", full),
            ),
            harm.sentence,
            "DAVG rises as much as KAVG: then the device cannot serve more anyway",
            (
                Remedy(
                    "Raise the device's queue depth after the array vendor's guidance, or spread the load over "
                    "more LUNs.",
                    ("esxcli storage core device list -d naa.ID", "esxcli storage core device set -d naa.ID -O 64"),
                    "An array that is shared may be flooded by one host.",
                    "QUED is 0 and KAVG below 1 ms in esxtop.",
                ),
            ),
        )


RULE = Rule(
    "D3",
    "full queue of a hypervisor's device",
    Kind.CAUSE,
    (Need((Layer.HOST_DEVICE,), ("queued",), "esxtop in batch mode: fathom record --print esxi"),),
    examine,
)
