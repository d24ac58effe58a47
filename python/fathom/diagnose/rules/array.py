"""D4: the array or the fabric is slow: latency arises below the hypervisor's queues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.in_host import WRITES, of_both_ways, writes_alone
from fathom.diagnose.evidence.load import FEWEST, middle
from fathom.diagnose.evidence.luns import name_of, other_host, together
from fathom.diagnose.evidence.words import seen, share, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags, Floats
    from fathom.diagnose.evidence.system import System
    from fathom.finding import Evidence

SLOW_S = 0.020
_PART, _OUTSTANDING = 0.05, 0.5
"""Share of the moments with I/O, and commands outstanding in them, from which people wait for it."""
_KERNEL_S = 0.002
"""KAVG from which commands wait in the host as well."""
_AS_SLOW = 0.6
"""Part of the latency beyond doubt from which other moments belong to the same slow time."""
_LARGE_BYTES = 128 * 1024
"""Mean size of commands that take long for their size, in a time in which the others are not slow."""
_NAMED = 7
"""Other devices that the evidence names, the slowest first."""


_SHARED = Remedy(
    "All of these became slow together: look at what they share. Give the storage team the times, the LUNs' ids and "
    "the host's ports; ask for the array's controllers, ports and caches, and for the switches between.",
    ("esxcli storage core path list", "esxcli storage san fc stats get", "esxcli storage san iscsi stats get"),
    None,
    "DAVG below 5 ms on all of them.",
)
_OF_NFS = Remedy(
    "Give the storage team the times and the datastore's server and export; ask for its processors, disks and network "
    "ports. Measure the network between the host and the server alone.",
    (
        "esxcli storage nfs list",
        "esxcli storage nfs41 list",
        "vmkping -c 20 SERVER # on ESXi",
        "esxcli network nic stats get -n vmnicN",
    ),
    None,
    "GAVG of the datastore is the usual one.",
)


@dataclass(frozen=True)
class _Slow:
    """A device and its slow moments."""

    lun: Device
    chosen: Flags
    part: float

    @property
    def latency_s(self) -> float:
        return middle(_below(self.lun)[self.chosen])

    @property
    def evidence(self) -> Evidence:
        words = f"{self.lun.name}: {_words(self.lun, self.chosen)} in {share(self.part)} of the moments with I/O."
        return seen(self.lun, words, self.chosen)


def examine(system: System) -> Iterator[Finding]:
    """Every device of the hypervisor; those that are slow at the same moments together."""
    left = [found for lun in system.of(Layer.HOST_DEVICE) if (found := _slow(lun)) is not None]
    while left:
        first = left[0]
        group = [each for each in left if each is first or _same_time(first, each)]
        left = [each for each in left if each not in group]
        yield _finding(system, max(group, key=lambda each: each.latency_s), group)


def _same_time(one: _Slow, other: _Slow) -> bool:
    return _is_nfs(one.lun) == _is_nfs(other.lun) and together(one.lun, one.chosen, other.lun, other.chosen)


def _slow(lun: Device) -> _Slow | None:
    device, kernel = _below(lun), np.nan_to_num(lun.values("kernel_latency_s"))
    used = (lun.values("iops") > 0) & np.isfinite(device)
    slow = used & (device > SLOW_S) & (kernel < _KERNEL_S) & ~(lun.values("queued") > 0)
    if slow.sum() < max(FEWEST, _PART * used.sum()) or middle((lun.values("iops") * device)[slow]) < _OUTSTANDING:
        return None
    if slow.sum() < 0.5 * used.sum() and middle(lun.values("size_bytes")[slow]) >= _LARGE_BYTES:
        return None
    # As slow as what is beyond doubt: the moments above a threshold alone are its tail.
    slow = used & (device >= _AS_SLOW * middle(device[slow])) & (kernel < _KERNEL_S) & ~(lun.values("queued") > 0)
    return _Slow(lun, slow, slow.sum() / used.sum())


def _finding(system: System, worst: _Slow, group: list[_Slow]) -> Finding:
    harm, lun, nfs = of_storage(system, worst.lun), worst.lun, _is_nfs(worst.lun)
    busy = next((found for each in group if (found := other_host(system, each.lun, each.chosen)) is not None), None)
    many = len({each.lun.device for each in group}) > 1
    below, for_all = lun.name, ""
    if many:
        below = f"{len(group)} {'datastores' if nfs else 'LUNs'}"
        for_all = f", {lun.name} the most and all of them at once"
    elif len(group) > 1:
        below, for_all = str(lun.device), f" for {len(group)} hosts at once"
    what = f"{'The NFS server or the network' if nfs else 'The array or fabric'} below {below} is slow{for_all}"
    what += f": {time(worst.latency_s)} a command outside of the host"
    writes = not many and writes_alone(system, lun, worst.chosen)
    what += f", of writes alone ({of_both_ways(lun, worst.chosen)})" if writes else ""
    advice = _OF_NFS if nfs else _SHARED if many else WRITES if writes else _of(lun)
    rest = sorted((each for each in group if each is not worst), key=lambda each: each.latency_s, reverse=True)
    return Finding(
        "D4",
        lun.name,
        f"{what}{'' if busy is None else f', while {busy.what}'}.",
        harm.severity,
        0.65 if nfs else 0.8,
        (worst.evidence, *(() if busy is None else (busy.evidence,)), *(each.evidence for each in rest[:_NAMED])),
        harm.sentence,
        "large transfers: judge them by MB/s",
        (*(() if busy is None else (busy.remedy,)), advice),
    )


def _of(lun: Device) -> Remedy:
    return Remedy(
        "Give the storage team the times, the LUN's id and the host's ports; ask for its cache, queue-full and port "
        "counters.",
        (f"esxcli storage core path list -d {name_of(lun)}",),
        None,
        "DAVG below 5 ms.",
    )


def _is_nfs(lun: Device) -> bool:
    """Whether only the time of the guest is known of it: a datastore on NFS."""
    return not lun.has("device_latency_s")


def _below(lun: Device) -> Floats:
    """Time below the queues of the hypervisor. A datastore on NFS has no queue: what the guest sees is the server."""
    if not _is_nfs(lun):
        return lun.values("device_latency_s")
    queues = lun.has("queued") or lun.has("queue_limit") or not lun.has("outstanding")
    return np.full(len(lun.times_ns), np.nan) if queues else lun.values("latency_s")


def _words(lun: Device, slow: Flags) -> str:
    below = time(middle(_below(lun)[slow]))
    if _is_nfs(lun):
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
