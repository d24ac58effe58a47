"""D3: the queue of the hypervisor's device is full: commands wait in the kernel for a free slot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.load import middle
from fathom.diagnose.evidence.luns import name_of
from fathom.diagnose.evidence.words import number, seen, share, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System

_PART = 0.05
"""Part of the moments from which users remember it."""
_MOST = 254
"""The deepest queue that all of these modules accept."""
_LOWERED, _MOSTLY = 0.75, 95
"""Part of the depth at other times, a high percentile, below which ESXi has lowered it by itself."""
_ARRAY = Remedy(
    "Look at the array's ports, and at what other hosts send to it: ESXi lowers a depth by itself where the array "
    "answers that its queue is full (status 0x28) or that it is busy (0x8). A deeper queue makes that worse.",
    ("grep -E 'D:0x(28|8) ' /var/log/vmkernel.log", "esxcli storage core device list (Queue Full Sample Size)"),
    None,
    "The depth stays as it was set.",
)


def examine(system: System) -> Iterator[Finding]:
    """Every device of the hypervisor."""
    for lun in system.of(Layer.HOST_DEVICE):
        kernel, device = lun.values("kernel_latency_s"), lun.values("device_latency_s")
        limit, active = lun.values("queue_limit"), lun.values("outstanding")
        full = (lun.values("queued") > 0) & ~(active < 0.9 * limit) & (kernel > 0.001)
        used = lun.values("iops") > 0
        if full.sum() < 5 or full.sum() < _PART * used.sum() or not middle(kernel[full]) > 0.2 * middle(device[full]):
            continue
        harm, depth, usual = of_storage(system, lun), middle(limit[full]), middle(limit[used], _MOSTLY)
        lowered = depth <= _LOWERED * usual
        active_of = f" of {number(depth)}" if depth > 0 else ""
        lowers = (
            (seen(lun, f"The depth is {number(depth)} then, and {number(usual)} otherwise.", full),) if lowered else ()
        )
        yield Finding(
            "D3",
            lun.name,
            f"The hypervisor's queue of {lun.name} is full: commands wait {time(middle(kernel[full]))} in the kernel.",
            harm.severity,
            0.85,
            (
                seen(
                    lun,
                    f"{number(middle(active[full]))} commands active{active_of}, "
                    f"{number(middle(lun.values('queued')[full]))} queued, in "
                    f"{share(full.sum() / max(used.sum(), 1))} of the moments.",
                    full,
                ),
                seen(lun, f"KAVG {time(middle(kernel[full]))}, DAVG {time(middle(device[full]))}.", full),
                *lowers,
            ),
            harm.sentence,
            "DAVG rises as much as KAVG: then the device cannot serve more anyway",
            (_ARRAY,) if lowered else (_deeper(name_of(lun), depth),),
        )


def _deeper(name: str, depth: float) -> Remedy:
    """Twice the depth. A device takes no more than the module of its adapter allows, which it reads when it starts."""
    wanted: int | str = min(round(2 * depth), _MOST) if depth > 0 else "DEPTH"
    return Remedy(
        "Raise the device's queue depth after the array vendor's guidance: first in the adapter's module, then of the "
        "device. Or spread the load over more LUNs.",
        (
            f"esxcli storage core device list -d {name}",
            "esxcli storage core adapter list",
            f"esxcli system module parameters set -m lpfc -p lpfc_lun_queue_depth={wanted} # Emulex",
            f"esxcli system module parameters set -m qlnativefc -p ql2xmaxqdepth={wanted} # QLogic",
            f"esxcli storage core device set -d {name} -O {wanted}",
        ),
        "A parameter of a module needs a restart of the host, and replaces those set before. A shared array may be "
        "flooded by one host.",
        "QUED is 0 and KAVG below 1 ms in esxtop.",
    )


RULE = Rule(
    "D3",
    "full queue of a hypervisor's device",
    Kind.CAUSE,
    (Need((Layer.HOST_DEVICE,), ("queued",), "esxtop in batch mode: fathom record --print esxi"),),
    examine,
)
