"""D24: a stall: requests are outstanding and none is completed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.hung import hung
from fathom.diagnose.evidence.load import FEWEST, implied_load, in_a_row, middle, worked
from fathom.diagnose.evidence.luns import name_of
from fathom.diagnose.evidence.words import length, number, seen, time
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import DISK_COLLECT, VOLUMES, Kind, Need, Rule
from fathom.finding import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags, Floats
    from fathom.diagnose.evidence.system import System


_LOOK = Remedy(
    "Look for a path failover, a snapshot, or a stun of the virtual machine at these times.",
    (
        "SQL Server error log: message 833",
        "VMware: esxcli storage core path list",
        "dmesg -T | grep -iE 'timeout|reset|blocked'",
    ),
    None,
    "No interval without completions.",
)
_PATHS = (
    "Look at the paths to the LUN at these times: one that died or flaps, ports with errors, a failover of the array. "
    "ESXi's log names path and SCSI status."
)
_SHORTER = Remedy("Record with one sample a second.", ("fathom record",), None, "The length of each pause is seen.")
_WITHIN = 0.6
"""How sure stalls are that no interval shows as a whole."""
_SHORTEST_S = 2.0
_BUSY_PERCENT = 80.0
_OWED = 0.75
"""Part of the time of those that a pause held which the moment after it must have."""
_RARE, _NEAR, _AT_WORK = 0.2, 4, 0.2
"""Share of moments without I/O up to which a load is steady, moments before and after a pause, and their least load."""


def examine(system: System) -> Iterator[Finding]:
    """Every volume, and every device of a hypervisor."""
    for disk in (*system.volumes, *system.of(Layer.HOST_DEVICE)):
        at_end, mean = (np.nan_to_num(disk.values(name)) for name in ("outstanding", "outstanding_mean"))
        still = (disk.values("iops") == 0) & ((at_end >= 2) | (mean >= 1))
        # Requests that wait keep a disk busy: where it was idle most of the interval, they came at its end.
        # (0 says nothing: Linux counts busy time when a request ends.)
        busy = disk.values("busy_percent")
        still &= ~((busy > 0) & (busy < _BUSY_PERCENT))
        stalled = (
            _lasting(still, disk.seconds) | (disk.values("stalled") > 0) | _caught(disk) | _held(disk) | _owed(disk)
        )
        if not (disk.values("iops") > 0).any():
            continue
        if not stalled.any():
            yield from _within(system, disk)
            continue
        harm = of_storage(system, disk)
        lasted = float(disk.seconds[stalled].sum())
        yield Finding(
            "D24",
            disk.name,
            f"{disk.name} stood still for {number(lasted)} s in all: requests outstanding, next to none completed.",
            harm.severity,
            0.85,
            (seen(disk, _words(disk, stalled, np.maximum(at_end, mean)), stalled), *_aborted(disk, stalled)),
            harm.sentence,
            "the recorder itself stood still then (missing intervals)",
            (_look(disk),),
        )


def _within(system: System, disk: Device) -> Iterator[Finding]:
    """Stalls that are shorter than the log's intervals."""
    held = hung(system, disk)
    if not held.any():
        return
    harm, latency, at_work = of_storage(system, disk), disk.values("latency_s"), worked(disk)
    usual = middle(latency[at_work & ~held])
    words = (
        f"{held.sum()} intervals with a mean of {time(middle(latency[held]))}, and of {time(usual)} otherwise, at no "
        f"more requests: {number(middle(implied_load(disk)[held]))} outstanding."
    )
    yield Finding(
        "D24",
        disk.name,
        f"{disk.name} holds its requests now and then, for a part of an interval of {length(disk.interval_s)}, and "
        "its own load does not explain that.",
        harm.severity,
        _WITHIN,
        (seen(disk, words, held),),
        harm.sentence,
        "something else that uses the same storage works at these times",
        (_SHORTER, _look(disk)) if disk.interval_s > 1 and disk.layer is not Layer.HOST_DEVICE else (_look(disk),),
    )


def _look(disk: Device) -> Remedy:
    """Where to look. ESXi's paths are those of one LUN."""
    if disk.layer is not Layer.HOST_DEVICE:
        return _LOOK
    commands = (
        f"esxcli storage core path list -d {name_of(disk)}",
        "esxcli storage core path stats get",
        "esxcli storage san fc stats get",
        "grep -E 'APD|PDL|H:0x[1-9a-f]|[Ff]ailover' /var/log/vmkernel.log",
    )
    return replace(_LOOK, action=_PATHS, commands=commands)


def _aborted(disk: Device, stalled: Flags) -> Iterator[Evidence]:
    """Commands that a hypervisor gave up: a guest waited for them as long as it does (60 s on Windows), or ESXi did."""
    rate = disk.values("aborts_per_s")
    hit = stalled & (rate > 0)
    if hit.any():
        count = float((rate * disk.seconds)[hit].sum())
        yield seen(disk, f"{number(count)} commands were aborted then: the storage did not answer in time.", hit)


def _words(disk: Device, stalled: Flags, load: Floats) -> str:
    most, count = float(np.max(load[stalled])), int(stalled.sum())
    if most > 0:
        return f"{count} intervals with {number(most)} requests outstanding and next to none completed."
    after = np.flatnonzero(stalled)[-1] + 1
    return (
        f"{count} intervals without any request completed, in the middle of a steady load; those that ended right "
        f"after had waited {number(float(implied_load(disk)[after] * disk.seconds[after]))} s in all."
    )


def _caught(disk: Device) -> Flags:
    """Moments whose few requests took seconds: Linux counts what was outstanding when it completes, after the stall."""
    latency, rate = disk.values("latency_s"), disk.values("iops")
    known = (rate > 0) & np.isfinite(latency)
    if known.sum() < FEWEST:
        return known & False
    usual, often = np.median(latency[known]), np.median(rate[known])
    return known & (latency >= 1.0) & (latency >= 100 * usual) & (rate <= 0.1 * often)


def _held(disk: Device) -> Flags:
    """Stretches in which only a few requests got past those that were held, until these came back all at once.

    The queue that is counted is then far above what rate and latency imply; afterwards it is below.
    """
    stated, rate = disk.measured.get("outstanding_mean"), disk.values("iops")
    found = np.zeros(len(disk.times_ns), dtype=bool)
    if stated is None or not (rate > 0).any():
        return found
    implied = np.nan_to_num(implied_load(disk))
    few = rate <= 0.1 * np.percentile(rate[rate > 0], 90)
    for group in in_a_row((stated >= 2) & (implied <= 0.1 * stated) & few):
        lasts = len(group) >= 2 and disk.seconds[group].sum() >= _SHORTEST_S
        if lasts and group[-1] + 1 < len(rate) and implied[group[-1] + 1] > 1.5 * stated[group[-1] + 1]:
            found[group] = True
    return found


def _owed(disk: Device) -> Flags:
    """Pauses of a steady load after which requests end that waited all the time.

    Linux since 5.0 counts a request's time when it ends: during a stall the disk looks idle, and the moment after it
    has the time of all that was held. A load that paused by itself leaves no such time behind.
    """
    rate, latency, implied = disk.values("iops"), disk.values("latency_s"), np.nan_to_num(implied_load(disk))
    found = np.zeros(len(rate), dtype=bool)
    idle = rate == 0
    # Where a disk rests now and then, the first moment after a rest may well be its busiest.
    working = np.flatnonzero(rate > 0)
    if disk.has("outstanding") or not idle.any() or not len(working) or idle.sum() > _RARE * len(rate):
        return found
    for group in in_a_row(idle):
        after, lasted = group[-1] + 1, float(disk.seconds[group].sum())
        before, behind = working[working < group[0]][-_NEAR:], working[working > after][:_NEAR]
        if lasted < _SHORTEST_S or after >= len(rate) or not rate[after] > 0 or min(len(before), len(behind)) < 2:
            continue
        places = np.concatenate([before, behind])
        near, often = np.sort(implied[places]), middle(latency[places])
        usual = float(np.median(near))
        # Requests that only come in a burst after a rest take as long as any.
        owed = rate[after] * (latency[after] - often) * disk.seconds[after]
        # The highest one nearby may be that of another stall.
        found[group] = usual >= _AT_WORK and implied[after] > near[-2] and owed >= _OWED * lasted * max(usual, 1.0)
    return found


def _lasting(still: Flags, seconds: Floats) -> Flags:
    """Only stretches of at least `_SHORTEST_S`: for one short interval a single slow request is enough."""
    chosen = np.zeros(len(still), dtype=bool)
    for group in in_a_row(still):
        chosen[group] = seconds[group].sum() >= _SHORTEST_S
    return chosen


_WHERE = (*VOLUMES, Layer.HOST_DEVICE)
RULE = Rule(
    "D24",
    "stall",
    Kind.CAUSE,
    (Need(_WHERE, ("iops",), DISK_COLLECT), Need(_WHERE, ("outstanding", "outstanding_mean"), DISK_COLLECT)),
    examine,
)
