"""D31: burst credits that are nearly spent, or will be soon: nothing is slow yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.clock import NS
from fathom.diagnose.evidence.credits import OTHER, SPENT_PERCENT, without_credits
from fathom.diagnose.evidence.words import length, seen, share
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import DISK_COLLECT, VOLUMES, Kind, Need, Rule
from fathom.finding import Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Floats
    from fathom.diagnose.evidence.system import System

_BALANCES = {
    "burst_balance_percent": "burst credits",
    "iops_balance_percent": "credits for IOPS",
    "bytes_balance_percent": "credits for throughput",
}
_LOW, _HALF = 20.0, 50.0
"""Percent left: below the first it is told always, below the second where it falls."""
_FALL, _SOON_S = 10.0, 86400.0
"""Percent that must have gone since the balance was highest, and the time within which the rest goes at that pace."""


def examine(system: System) -> Iterator[Finding]:
    """Every volume and machine with a balance."""
    for disk in system.of(*VOLUMES, Layer.CLOUD_INSTANCE):
        for metric, credits in _BALANCES.items():
            balance = disk.values(metric)
            known = np.isfinite(balance)
            left = balance[known]
            words = _falling(disk.times_ns[known] / NS, left)
            if words is not None:
                between = f"{share(left.min() / 100)} and {share(left.max() / 100)}"
                # Of a machine's balances no volume can be the remedy.
                of_volume = metric == "burst_balance_percent"
                yield Finding(
                    "D31",
                    disk.name,
                    f"The {credits} of {disk.name} {words}",
                    Severity.NOTE,
                    0.6,
                    (seen(disk, f"Its balance is between {between}, in {known.sum()} intervals.", known),),
                    None,
                    "the load that spends them ends before they do",
                    (without_credits(system, disk, known) if of_volume else OTHER,),
                )


def _falling(times_s: Floats, left: Floats) -> str | None:
    """What became of a balance, for people; None where enough is left, or D7 speaks."""
    if len(left) < 3 or left.min() < SPENT_PERCENT:
        return None
    highest = int(len(left) - 1 - np.argmax(left[::-1]))
    fallen, took, last = left[highest] - left[-1], times_s[-1] - times_s[highest], float(left[-1])
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
