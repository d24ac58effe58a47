"""Throttles: what a cloud reports of its limits, and tight plateaus at a known limit.

A saturated device also has a highest rate. A throttle's is tight, and the same whatever the load: latency alone gives.
So a plateau counts only at a limit that is known or bought, with a load that doubles or a latency that triples, and
where the rate rose to it from a quieter time. Without a quieter time a load of this very rate looks the same: only a
plateau that hardly scatters then tells a throttle, and with less confidence. A volume that does the same rate at a low
latency at other times is not throttled there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.device import Device
from fathom.diagnose.evidence.load import FEWEST, Plateau, has_risen, is_hard, middle, plateau, quieter, served, worked
from fathom.diagnose.evidence.surroundings import AWS, AZURE, VMWARE
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import megabytes, number, seen, share, time
from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.evidence.system import System
    from fathom.finding import Evidence


@dataclass(frozen=True)
class Throttle:
    """A limit that was reached: a clause, its evidence, how sure it is, and whether the rate rose to it in the log."""

    what: str
    confidence: float
    evidence: tuple[Evidence, ...]
    rose: bool = True


_FLAGS = {"iops_exceeded": "IOPS", "bytes_exceeded": "throughput",
          "iops_exceeded_s_per_s": "IOPS", "bytes_exceeded_s_per_s": "throughput"}  # fmt: skip
_USED = {
    "iops_used_percent": "IOPS",
    "bytes_used_percent": "throughput",
    "uncached_iops_used_percent": "IOPS past the cache",
    "uncached_bytes_used_percent": "throughput past the cache",
    "cached_iops_used_percent": "IOPS through the cache",
    "cached_bytes_used_percent": "throughput through the cache",
}
_BALANCES = {"iops_balance_percent": "IOPS", "bytes_balance_percent": "throughput"}
NEAR = 0.03
"""Relative distance from a limit within which a plateau counts as at it."""
_STRICT = 0.015
"""Spread of a plateau that is a throttle's although no limit of its size is known for such a volume."""
_STILL, _EXACT = 0.005, 0.01
"""Scatter of the whole log, and distance from a limit, of a plateau that is told without a quieter time."""
_LASTING = 0.05
"""Share of the time from which a limit that is reached matters; a moment at a limit is normal in a cloud."""


def said_by_cloud(device: Device) -> Throttle | None:
    """What the cloud's own counters say."""
    for metrics, low, words in ((_FLAGS, 0.05, "passed"), (_USED, 95.0, "used up")):
        for metric, what in metrics.items():
            values = device.values(metric)
            hit = values >= low
            known = np.isfinite(values).sum()
            if hit.sum() >= 3 and hit.sum() >= _LASTING * known:
                said = f"{metric.replace('_', ' ')} is {number(middle(values[hit]))}"
                evidence = seen(
                    device, f"The cloud's own counter: {said} in {share(hit.sum() / known)} of the time.", hit
                )
                return Throttle(
                    f"its limit on {what} is {words} in {share(hit.sum() / known)} of the time", 0.95, (evidence,)
                )
    for metric, what in _BALANCES.items():
        empty = device.values(metric) < 2
        if empty.sum() >= 3:
            evidence = seen(device, f"The burst balance for {what} is below 2 % in {empty.sum()} intervals.", empty)
            return Throttle(f"its burst balance for {what} is spent", 0.95, (evidence,))
    return None


def throttled(system: System, disk: Device, kind: str = "volume") -> Throttle | None:
    """A tight plateau of IOPS or bytes at a limit."""
    plateaus = [each for m in ("iops", "bytes_per_s") if (each := plateau(disk, m)) and not served(disk, each)]
    found = [(each, _limit(system, disk, each, kind)) for each in plateaus]
    known = [(each, limit) for each, limit in found if limit is not None]
    if not known:
        return None
    # With sizes that differ only one of the two can be tight; with one size the nearer limit decides.
    best, (name, sure, off) = min(known, key=lambda pair: (-pair[1][1], pair[1][2], pair[0].spread))
    grown = best.load_growth >= 2 or best.latency_growth >= 3
    risen = has_risen(disk, best) or (grown and is_hard(disk, best))
    if not risen:
        sure = _without_rise(system, disk, best, sure, off)
    elif not grown and sure < 0.85:
        return None
    rate = _rate(best)
    other = next((each for each, _ in found if each is not best), None)
    if other is not None and risen and sure < 0.8:
        # Requests of one size: the log does not tell which of the two is limited.
        rate += f" ({_rate(other)})"
    # Most moments at a limit may be just there; those beyond it show what it costs.
    latency = middle(disk.values("latency_s")[best.chosen], 90)
    if latency < 0.002 or not sure:
        return None
    within = share(best.spread) if best.spread >= 0.01 else f"{number(100 * best.spread)} %"
    how = _how(disk, best, latency, risen=risen)
    evidence = seen(disk, f"A plateau of {rate}, tight within {within}; {how}; {name}.", best.chosen)
    top = _rate(replace(best, level=float(np.nanmax(disk.values(best.metric)))))
    most = "" if top == _rate(best) else f" (at most {top})"
    return Throttle(f"it stays at {rate}{most}, {name}", sure, (evidence,), risen)


def _how(disk: Device, found: Plateau, latency_s: float, *, risen: bool) -> str:
    """What the load did beside the plateau."""
    if not risen:
        return f"at {time(latency_s)}, without a quieter time: a load of just this rate would look the same"
    quiet = quieter(disk, found)
    calm = ""
    if quiet.any():
        below = _rate(replace(found, level=middle(disk.values(found.metric)[quiet])))
        calm = f"in quieter times {below} at {time(middle(disk.values('latency_s')[quiet]))}; "
    grown = f"outstanding requests grew {number(found.load_growth)} ×, latency {number(found.latency_growth)} ×"
    return f"{calm}{grown} to {time(latency_s)}"


def _without_rise(system: System, disk: Device, found: Plateau, sure: float, off: float) -> float:
    """How sure a limit is that the whole log is at; zero where nothing speaks for one."""
    slow = middle(disk.values("latency_s")[found.chosen]) > tier_of(system, disk).target_s
    if sure < 0.8 or not slow:
        return 0.0
    rates = disk.values(found.metric)[worked(disk)]
    # The first and the last interval may hold less.
    scatter = float(np.std(rates[np.abs(rates / found.level - 1) <= NEAR]) / found.level)
    held = np.mean(np.abs(rates / found.level - 1) <= _EXACT) >= 0.9 and np.nanmax(rates) <= (1 + NEAR) * found.level
    if scatter > _STILL or off > _EXACT or not held:
        return 0.3
    # Only where the cloud is known are its limits more than numbers that many loads may have.
    named = VMWARE in system.ruled_out and not {AWS, AZURE} <= system.ruled_out
    return 0.8 if sure > 0.8 else 0.6 if named else 0.45


def _rate(found: Plateau) -> str:
    return f"{number(found.level)} IOPS" if found.metric == "iops" else megabytes(found.level)


def _limit(system: System, disk: Device, found: Plateau, kind: str) -> tuple[str, float, float] | None:
    """What the level is a limit of, how sure that is, and the level's relative distance from it."""
    fact = "provisioned_iops" if found.metric == "iops" else "provisioned_bytes_per_s"
    for each in system.facts:
        if each.name == fact and (off := _off(found.level, each.value)) <= NEAR:
            return f"what was bought for {each.subject or 'the volume'}", 0.9, off
        gp2 = each.name == "volume_bytes" and system.fact("volume_type", each.subject) == "gp2"
        if gp2 and found.metric == "iops" and (off := _off(found.level * 2**30 / 3, each.value)) <= NEAR:
            return f"3 IOPS per GiB of the gp2 volume {each.subject}", 0.9, off
    cap = system.limits.cap(found.metric, found.level, kind, NEAR)
    if cap is not None:
        off = abs(found.level / float(getattr(cap, found.metric)) - 1)
        rates = (middle(disk.values(metric)[found.chosen]) for metric in ("iops", "bytes_per_s"))
        if system.limits.holds(cap, *rates):
            return f"a known limit ({cap.name})", 0.8, off
        # The size of the limit is a usual one, but this volume does more than that one's other limit allows.
        if found.spread <= _STRICT:
            return "a size in which limits are sold", 0.6, off
    if _is_round(found.level) and found.spread <= _STRICT and found.load_growth >= 2:
        return "a round number, as limits are", 0.6, 0.0
    return None


def other_limit(system: System, disk: Device, found: Plateau) -> float | None:
    """The limit that goes with the one a plateau shows: on throughput with one on IOPS, or the other way round."""
    metric = "bytes_per_s" if found.metric == "iops" else "iops"
    bought = next((each.value for each in system.facts if each.name == f"provisioned_{metric}"), None)
    if bought is not None and _off(1.0, bought) < math.inf:
        return float(bought)
    cap = system.limits.cap(found.metric, found.level, "volume", NEAR)
    rates = (middle(disk.values(each)[found.chosen]) for each in ("iops", "bytes_per_s"))
    limit = getattr(cap, metric) if cap is not None and system.limits.holds(cap, *rates) else None
    return None if limit is None else float(limit)


def _is_round(level: float) -> bool:
    """Whether a level is 1 to 5 times 1, 2, 2.5 or 5 of some power of ten: by chance three in a hundred levels are."""
    power = 10.0 ** math.floor(math.log10(level))
    steps = [part * scale for scale in (power / 10, power) for part in (1.0, 2.0, 2.5, 5.0)]
    near = (abs(level / (round(level / step) * step) - 1) for step in steps if level / 5.01 <= step <= level * 1.01)
    return any(each <= 0.003 for each in near)


def _off(level: float, text: str) -> float:
    """Relative distance of a level from a limit; infinite from what is none."""
    try:
        return abs(level / float(text) - 1)
    except (ValueError, ZeroDivisionError):
        return math.inf


def together(system: System) -> Throttle | None:
    """A plateau of the sum over all disks of a host that none of them has alone."""
    from fathom.diagnose.evidence.join import adapters

    for _, disks in adapters(system):
        whole = _sum(disks)
        loaded = [disk for disk in disks if disk.mean("iops") > 0.05 * whole.mean("iops")]
        for metric in ("iops", "bytes_per_s"):
            found = plateau(whole, metric)
            if found is None or len(loaded) < 2 or any(plateau(disk, metric) for disk in loaded):
                continue
            if (found.load_growth < 2 and found.latency_growth < 3) or served(whole, found):
                continue
            spreads = [_spread(disk.values(metric)[found.chosen]) for disk in loaded]
            cap = system.limits.cap(metric, found.level, "instance")
            if found.chosen.sum() >= FEWEST and min(spreads) > 3 * max(found.spread, 0.005):
                rate = f"{number(found.level)} IOPS" if metric == "iops" else megabytes(found.level)
                words = f"All disks together never exceed {rate} (within {share(found.spread)}); each alone varies by "
                evidence = seen(whole, f"{words}{share(min(spreads))} or more.", found.chosen)
                limit = f", the limit of {cap.name}" if cap else ""
                return Throttle(f"all volumes together are at {rate}{limit}", 0.85 if cap else 0.7, (evidence,))
    return None


def _spread(values: np.ndarray) -> float:
    return float(np.nanstd(values) / np.nanmean(values)) if np.nanmean(values) > 0 else 0.0


def _sum(disks: list[Device]) -> Device:
    """One device that is the sum of others with the same moments; its latency follows from Little's law."""
    measured = {name: np.nansum([disk.values(name) for disk in disks], axis=0) for name in ("iops", "bytes_per_s")}
    measured["outstanding_mean"] = np.nansum([disk.load for disk in disks], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        measured["latency_s"] = np.where(measured["iops"] > 0, measured["outstanding_mean"] / measured["iops"], np.nan)
    return replace(disks[0], layer=Layer.CLOUD_INSTANCE, device="all disks", measured=measured, _derived={})
