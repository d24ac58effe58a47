"""D31: burst credits that are nearly spent, or will be soon: nothing is slow yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.clock import NS
from fathom.diagnose.evidence.credits import OTHER, without_credits
from fathom.diagnose.evidence.words import length, seen, share
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import DISK_COLLECT, VOLUMES, Kind, Need, Rule
from fathom.finding import Evidence, Finding, Remedy, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System

_BALANCES = {
    "burst_balance_percent": "burst credits",
    "iops_balance_percent": "credits for IOPS",
    "bytes_balance_percent": "credits for throughput",
}
_SPENT, _LOW, _HALF = 2.0, 20.0, 50.0
"""Percent left: below the first D7 speaks, below the second it is told always, below the third where it falls."""
_FALL, _SOON_S = 10.0, 86400.0
"""Percent that must have gone since the balance was highest, and the time within which the rest goes at that pace."""


def examine(system: System) -> Iterator[Finding]:
    """Every volume and machine with a balance."""
    for disk in system.of(*VOLUMES, Layer.CLOUD_INSTANCE):
        for metric, credits in _BALANCES.items():
            words = _falling(disk, metric)
            if words is not None:
                yield Finding(
                    "D31",
                    disk.name,
                    f"The {credits} of {disk.name} {words}",
                    Severity.NOTE,
                    0.6,
                    (_balance(disk, metric),),
                    None,
                    "the load that spends them ends before they do",
                    (_remedy(system, disk, metric),),
                )


def _balance(device: Device, metric: str) -> Evidence:
    left = device.values(metric)
    known = np.isfinite(left)
    low, high = share(left[known].min() / 100), share(left[known].max() / 100)
    return seen(device, f"Its balance is between {low} and {high}, in {known.sum()} intervals.", known)


def _remedy(system: System, disk: Device, metric: str) -> Remedy:
    """Of a machine's balances no volume can be the remedy."""
    of_volume = metric == "burst_balance_percent"
    return without_credits(system, disk, np.isfinite(disk.values(metric))) if of_volume else OTHER


def _falling(device: Device, metric: str) -> str | None:
    """What became of a balance, for people; None where enough is left, or D7 speaks."""
    left = device.values(metric)
    known = np.isfinite(left)
    if known.sum() < 3 or left[known].min() < _SPENT:
        return None
    times, left = device.times_ns[known] / NS, left[known]
    highest = int(len(left) - 1 - np.argmax(left[::-1]))
    fallen, took, last = left[highest] - left[-1], times[-1] - times[highest], float(left[-1])
    if last < _HALF and fallen >= _FALL and last * took <= _SOON_S * fallen:
        ends = f"at that pace none are left {length(last * took / fallen)} after the end of the log"
        return f"fell from {share(left[highest] / 100)} to {share(last / 100)} in {length(took)}: {ends}."
    lowest = float(left.min())
    return (
        f"were down to {share(lowest / 100)}; with none left the rate falls to the baseline." if lowest < _LOW else None
    )


RULE = Rule(
    "D31",
    "burst credits nearly spent",
    Kind.CONTEXT,
    (Need((*VOLUMES, Layer.CLOUD_INSTANCE), ("iops", *_BALANCES), DISK_COLLECT),),
    examine,
)
