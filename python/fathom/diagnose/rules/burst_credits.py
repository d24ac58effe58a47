"""D7: burst credits are spent: the balance is at zero, or the rate drops from a burst limit while latency rises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.join import ranks
from fathom.diagnose.evidence.load import FEWEST, busy, middle
from fathom.diagnose.evidence.surroundings import AWS
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.rule import DISK_COLLECT, VOLUMES, Kind, Need, Rule
from fathom.finding import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.system import System

BURST_IOPS = 3000.0
"""gp2's burst rate, with 5.4 million credits at 3 IOPS per GiB (Amazon EBS user guide)."""

_OTHER = Remedy(
    "Take a size or type of volume whose rate does not depend on credits.",
    (),
    "Costs more.",
    "No step down in the slow time.",
)


def examine(system: System) -> Iterator[Finding]:
    """Every volume."""
    for disk in system.volumes:
        found = _balance(disk) or _step(disk)
        if found is None:
            continue
        harm = of_storage(system)
        yield Finding(
            "D7",
            disk.name,
            f"The burst credits of {disk.name} are spent.",
            harm.severity,
            found[1],
            (found[0],),
            harm.sentence,
            "the balance is above zero in the slow time",
            (
                _OTHER
                if AWS in system.ruled_out
                else Remedy(
                    "Change gp2 to gp3, whose rate does not depend on credits (or make gp2 at least 1 TiB).",
                    ("aws ec2 modify-volume --volume-id vol-ID --volume-type gp3 --iops 3000 --throughput 125",),
                    "Performance may differ while the change runs; 6 hours to the next one.",
                    "No step down; alarm on BurstBalance below 20 %.",
                ),
            ),
        )


def _balance(disk: Device) -> tuple[Evidence, float] | None:
    left = disk.values("burst_balance_percent")
    empty = left < 2
    if empty.sum() < 3 and not (empty.any() and empty.sum() >= 0.1 * np.isfinite(left).sum()):
        return None
    return seen(disk, f"BurstBalance is below 2 % in {empty.sum()} intervals.", empty), 0.95


def _step(disk: Device) -> tuple[Evidence, float] | None:
    chosen = np.flatnonzero(busy(disk) & np.isfinite(disk.values("iops")))
    if len(chosen) < 3 * FEWEST:
        return None
    rates, latency = disk.values("iops")[chosen], disk.values("latency_s")[chosen]
    # Pettitt's change point: where the ranks before differ most from those after.
    differing = np.abs(np.cumsum(ranks(rates) - (len(rates) + 1) / 2))
    cut = FEWEST + int(np.argmax(differing[FEWEST - 1 : -FEWEST - 1]))
    before, after = float(np.median(rates[:cut])), float(np.median(rates[cut:]))
    slower = middle(latency[cut:]) / middle(latency[:cut])
    flat = np.mean(np.abs(rates[cut:] / after - 1) < 0.05) >= 0.6
    # Fewer may wait later on, each no longer than before: then the rate that stays while the load varies tells.
    low, high = np.percentile(disk.load[chosen][cut:], [10, 90])
    held = high >= 1.5 * low
    if not (abs(before / BURST_IOPS - 1) < 0.1 and 80 <= after <= 0.7 * before and flat and (slower >= 1.4 or held)):
        return None
    later = np.zeros(len(disk.times_ns), dtype=bool)
    later[chosen[cut:]] = True
    fell = f"From {number(before)} IOPS, the burst rate of gp2, it fell to a plateau of {number(after)} (that of "
    words = f"{fell}{number(after / 3)} GiB)"
    if slower >= 1.4:
        words += f", and latency rose {number(slower)} × to {time(middle(latency[cut:]))}."
    else:
        words += f" that did not move with {number(low)} to {number(high)} requests outstanding."
    return seen(disk, words, later), 0.8


_RATE_OR_BALANCE = Need(VOLUMES, ("iops", "burst_balance_percent"), DISK_COLLECT)
RULE = Rule("D7", "spent burst credits", Kind.CAUSE, (_RATE_OR_BALANCE,), examine)
