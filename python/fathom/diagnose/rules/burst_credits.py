"""D7: burst credits are spent: the balance is at zero, or the rate drops from a burst limit while latency rises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.bursts import spent_burst
from fathom.diagnose.evidence.credits import BURST_IOPS, SPENT_PERCENT, without_credits
from fathom.diagnose.evidence.ebs import LEAST_IOPS, MOST_MIB, described_type
from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.join import ranks
from fathom.diagnose.evidence.load import FEWEST, IDLE_LOAD, middle
from fathom.diagnose.evidence.sold import DOUBTFUL, KNOWN, SURE, is_in, is_rented, sold_there
from fathom.diagnose.evidence.unexplained import fallen, slow_part
from fathom.diagnose.evidence.words import megabytes, number, seen, time
from fathom.diagnose.rule import DISK_COLLECT, VOLUMES, Kind, Need, Rule
from fathom.finding import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System
    from fathom.diagnose.evidence.unexplained import Fallen

_NEAR, _EXACT = 0.1, 0.02
"""How far from the burst rate a load may be that was served at it, and a rate that was held there."""
_AGAIN, _MOMENTS = 1.2, 0.05
"""Credits that are spent stay so: no more than so many of the later moments may be above so many times the plateau."""

_LIKELY, _OF_TABLE = 0.55, 0.65
"""How sure a limit that lowers the rate is one of a spent burst in a cloud, and one that a volume is known to have."""
_LEAST_PERCENT = 0.1
"""Scatter below which more digits say nothing: reports are rounded."""
_BALANCES = Remedy(
    "Record the burst balances of the volume and of the instance. Take a size or type whose baseline is as much as the "
    "load needs; outside of a cloud look for a limit that somebody set.",
    (
        "fathom record --print aws",
        "aws ec2 describe-instance-types --instance-types TYPE --query InstanceTypes[].EbsInfo.EbsOptimizedInfo",
        "fathom record --print azure",
    ),
    "None to look. A larger size costs more.",
    "The rate does not fall in a time of as much load.",
)


def examine(system: System) -> Iterator[Finding]:
    """Every volume."""
    for disk in system.volumes:
        found = _balance(disk) or _step(system, disk)
        if found is None:
            yield from _lower(system, disk)
            continue
        harm = of_storage(system, disk)
        yield Finding(
            "D7",
            disk.name,
            f"The burst credits of {disk.name} {'are' if found.confidence >= SURE else 'may be'} spent.",
            harm.severity,
            found.confidence,
            (found.evidence,),
            harm.sentence,
            "the balance is above zero in the slow time",
            (without_credits(system, disk, ~found.spent),),
        )


@dataclass(frozen=True)
class _Spent:
    """What shows it, how sure it is, and the moments without credits."""

    evidence: Evidence
    confidence: float
    spent: Flags


def _balance(disk: Device) -> _Spent | None:
    left = disk.values("burst_balance_percent")
    empty = left < SPENT_PERCENT
    if empty.sum() < 3 and not (empty.any() and empty.sum() >= 0.1 * np.isfinite(left).sum()):
        return None
    return _Spent(
        seen(disk, f"The balance of burst credits is below 2 % in {empty.sum()} intervals.", empty), 0.95, empty
    )


def _step(system: System, disk: Device) -> _Spent | None:
    if described_type(system, disk) not in {None, "gp2"}:
        return None
    # Not only while most requests queue: at the burst rate few do.
    chosen = np.flatnonzero((np.nan_to_num(disk.load) >= IDLE_LOAD) & np.isfinite(disk.values("iops")))
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
    off = abs(before / BURST_IOPS - 1)
    if not (off < _NEAR and (1 - _NEAR) * LEAST_IOPS <= after <= 0.7 * before and flat and (slower >= 1.4 or held)):
        return None
    moved = middle(disk.values("bytes_per_s")[chosen][:cut])
    if moved > 1.05 * MOST_MIB * 2**20 or (rates[cut:] > _AGAIN * after).sum() > max(3, _MOMENTS * (len(rates) - cut)):
        return None
    later = np.zeros(len(disk.times_ns), dtype=bool)
    later[chosen[cut:]] = True
    at = "the burst rate of gp2" if off <= _EXACT else "near the burst rate of gp2"
    fell = f"From {number(before)} IOPS, {at}, it fell to a plateau of {number(after)} (that of "
    words = f"{fell}{number(after / 3)} GiB)"
    if slower >= 1.4:
        words += f", and latency rose {number(slower)} × to {time(middle(latency[cut:]))}."
    else:
        words += f" that did not move with {number(low)} to {number(high)} requests outstanding."
    sure = min(0.8, sold_there(system, disk, "aws"))
    if not sure:
        return None
    if sure < 0.8 and off > _EXACT:
        # Without a sign of AWS only the burst rate itself speaks for its credits.
        sure = DOUBTFUL
    return _Spent(seen(disk, words, later), sure, later)


def _lower(system: System, disk: Device) -> Iterator[Finding]:
    """A lower rate that never moves, wherever it began: a limit, of which bursts are the usual reason in a cloud."""
    parts = _fallen(disk) or spent_burst(disk)
    if parts is None:
        return
    slow, rest, found = parts
    harm = of_storage(system, disk)
    before, level = (_said(found.metric, each) for each in (found.before, found.level))
    latency = disk.values("latency_s")
    words = (
        f"{before} at {time(middle(latency[rest]))} before; then {level} within "
        f"{number(max(100 * found.spread, _LEAST_PERCENT))} %, with {number(middle(disk.load[slow]))} outstanding at "
        f"{time(middle(latency[slow]))}: others would leave now more and now less." + _size(system, disk, found)
    )
    known = _known(system, disk, found)
    # Google sells no bursts.
    rented = is_rented(system) and not is_in(system, "gcp")
    why = f"as at a known limit ({known})" if known else "as at a limit"
    yield Finding(
        "D7",
        disk.name,
        f"The burst of {disk.name}, or of its machine, may be spent: from {before} it fell to "
        f"{level} and stays there, {why}.",
        harm.severity,
        _OF_TABLE if known else _LIKELY if rented else DOUBTFUL,
        (seen(disk, words, slow),),
        harm.sentence,
        "the burst balances of volume and instance are above zero in the slow time, and nobody set a limit",
        (_BALANCES,),
    )


def _fallen(disk: Device) -> tuple[Flags, Flags, Fallen] | None:
    """The slow time at a lower rate, the rest of the log, and what fell."""
    parts = slow_part(disk)
    found = None if parts is None else fallen(disk, *parts)
    return None if parts is None or found is None else (*parts, found)


def _size(system: System, disk: Device, found: Fallen) -> str:
    """The gp2 that has so many IOPS without credits, where the volume may be one."""
    may_be = is_in(system, "aws") and described_type(system, disk) in {None, "gp2"}
    if found.metric != "iops" or not may_be or not LEAST_IOPS <= found.level < BURST_IOPS:
        return ""
    return f" A gp2 of {number(found.level / 3)} GiB has so many IOPS without credits."


def _said(metric: str, rate: float) -> str:
    """A rate for people, with its way where it is of one alone."""
    way = {"read": " of reads", "write": " of writes"}.get(metric.partition("_")[0], "")
    return (f"{number(rate)} IOPS" if metric.endswith("iops") else megabytes(rate)) + way


def _known(system: System, disk: Device, found: Fallen) -> str | None:
    """The limit of the tables that the lower rate is at, of those that the volume has for certain."""
    metric = found.metric.removeprefix("read_").removeprefix("write_")
    near = system.limits.near(metric, found.level, "volume", _EXACT)
    return next((each.name for each in near if sold_there(system, disk, each.cloud) >= KNOWN), None)


_RATE_OR_BALANCE = Need(VOLUMES, ("iops", "burst_balance_percent"), DISK_COLLECT)
RULE = Rule("D7", "spent burst credits", Kind.CAUSE, (_RATE_OR_BALANCE,), examine)
