"""Throttles: what a cloud reports of its limits, and tight plateaus at a known limit.

A saturated device also has a highest rate. A throttle's is tight, and the same whatever the load: latency alone gives.
So a plateau counts only at a limit that is known or bought, with a load that doubles or a latency that triples, and
where the rate rose to it from a quieter time. Without a quieter time a load of this very rate looks the same: only a
plateau that hardly scatters then tells a throttle, and with less confidence. A volume that does the same rate at a low
latency at other times is not throttled there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.credits import SPENT_PERCENT
from fathom.diagnose.evidence.device import Device
from fathom.diagnose.evidence.ebs import DISKS, type_of
from fathom.diagnose.evidence.join import adapters, correlation, onto
from fathom.diagnose.evidence.load import (
    FEWEST,
    TIGHT,
    Plateau,
    has_risen,
    is_hard,
    is_paced,
    middle,
    plateau,
    quieter,
    served,
    worked,
)
from fathom.diagnose.evidence.sold import DOUBTFUL, KNOWN, SURE, is_rented, sold_there
from fathom.diagnose.evidence.surroundings import is_nvme
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import megabytes, number, seen, share, time
from fathom.diagnose.metrics import Layer

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Flags
    from fathom.diagnose.evidence.system import System
    from fathom.diagnose.facts import Fact
    from fathom.finding import Evidence


@dataclass(frozen=True)
class Throttle:
    """A limit that was reached.

    Attributes:
        what: a clause.
        confidence: how sure it is.
        evidence: what shows it.
        rose: whether the rate rose to it in the log.
        cloud: who alone sells it; None for no one in particular.
        link: whether it is a link's, not a volume's.
        sold: the name of the known limit; None where it is none of a table.
        own: whether a file of the user's names it for no cloud, and no log tells of one: nobody's commands change it.
    """

    what: str
    confidence: float
    evidence: tuple[Evidence, ...]
    rose: bool = True
    cloud: str | None = None
    link: bool = False
    sold: str | None = None
    own: bool = False


@dataclass(frozen=True)
class _Limit:
    """What a level is a limit of, how sure that is, and the level's relative distance from it.

    Attributes:
        listed: whether it is in a table or was bought, not only a number as limits are.
    """

    name: str
    sure: float
    off: float
    listed: bool = True
    cloud: str | None = None
    link: bool = False
    sold: str | None = None


FLAGS = {"iops_exceeded": "IOPS", "bytes_exceeded": "throughput",
          "iops_exceeded_s_per_s": "IOPS", "bytes_exceeded_s_per_s": "throughput"}  # fmt: skip
USED = {
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
_MEAN, _MOSTLY = 0.025, 0.7
"""Scatter of means over a minute or more at a limit that the load goes beyond at most times, and how many are there."""
_BOUGHT = 0.55
"""How sure a limit is that no table has, of a volume that is sold by its rate."""
_OF = {
    "iops": ("iops_exceeded", "iops_exceeded_s_per_s", "iops_used_percent"),
    "bytes_per_s": ("bytes_exceeded", "bytes_exceeded_s_per_s", "bytes_used_percent"),
}
"""The cloud's counters on a volume's limit for each rate."""
_PASSED, _NEARLY = 0.05, 90.0
"""From where a limit is passed, as a part of the time, and nearly used, in percent."""
_ONE = 0.25
"""How far from one request at a time a device at its own rate may be."""
_ALIKE = 0.2
"""How far apart mean sizes of requests of one kind may be."""
_LOADED = 0.05
"""Part of the requests of all disks, from which a disk counts."""
_SLOWED, _LEAST_S, _EQUAL = 2.0, 0.002, 0.1
"""Times the usual latency and least latency at a shared limit, and how far apart what it adds to each may be."""
_AS_ONE, _WITH_EACH_OTHER = 0.95, 0.03
"""Rank correlation of latencies from which disks wait for the same, and scatter of such a limit."""
_LASTING = 0.05
"""Share of the time from which a limit that is reached matters; a moment at a limit is normal in a cloud."""


def said_by_cloud(device: Device) -> Throttle | None:
    """What the cloud's own counters say."""
    for metrics, low, words in ((FLAGS, 0.05, "passed"), (USED, 95.0, "used up")):
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
        empty = device.values(metric) < SPENT_PERCENT
        if empty.sum() >= 3:
            evidence = seen(device, f"The burst balance for {what} is below 2 % in {empty.sum()} intervals.", empty)
            return Throttle(f"its burst balance for {what} is spent", 0.95, (evidence,))
    return None


def throttled(system: System, disk: Device, kind: str = "volume") -> Throttle | None:
    """A tight plateau of IOPS or bytes at a limit."""
    plateaus = [each for m in ("iops", "bytes_per_s") if (each := plateau(disk, m)) and not _is_own(system, disk, each)]
    found = [
        (each, None if denied(system, disk, each.metric, each.chosen) else _limit(system, disk, each, kind))
        for each in plateaus
    ]
    known = [(each, limit) for each, limit in found if limit is not None]
    if not known:
        return None
    # With sizes that differ only one of the two can be tight; with one size the nearer limit decides.
    best, limit = min(known, key=lambda pair: (-pair[1].sure, pair[1].off, pair[0].spread))
    name, sure = limit.name, limit.sure
    if not any(each.listed for _, each in known):
        # Of numbers that are only like limits, the one that is exact was set: 6,000 IOPS, not the 49.2 MB/s they move.
        best, limit = min(known, key=lambda pair: (pair[1].off, -pair[1].sure, pair[0].spread))
        name = limit.name
    grown = best.load_growth >= 2 or best.latency_growth >= 3 or _has_slowed(disk, best)
    risen = has_risen(disk, best) or (grown and is_hard(disk, best) and not is_paced(disk, best))
    if not risen:
        sure = min(sure, _without_rise(system, disk, best, limit))
    elif not grown and sure < 0.85:
        return None
    rate = _rate(best)
    other = next((each for each, _ in found if each is not best), None)
    if other is not None and risen and not limit.listed:
        # Requests of one size: the log does not tell which of the two is limited.
        rate += f" ({_rate(other)})"
    # Most moments at a limit may be just there; those beyond it show what it costs.
    at_limit = disk.values("latency_s")[best.chosen]
    if middle(at_limit, 90) < 0.002 or not sure:
        return None
    # Rounded counters of a hard limit do not scatter at all.
    within = share(best.spread) if best.spread >= 0.01 else f"{number(max(100 * best.spread, 0.01))} %"
    how = _how(disk, best, middle(at_limit), risen=risen)
    evidence = seen(disk, f"A plateau of {rate}, tight within {within}; {how}; {name}.", best.chosen)
    top = _rate(replace(best, level=float(np.nanmax(disk.values(best.metric)))))
    most = "" if top == _rate(best) else f" (at most {top})"
    what = f"it stays at {rate}{most}, {name}"
    own = limit.sold is not None and limit.cloud is None and not is_rented(system)
    return Throttle(what, sure, (evidence,), risen, limit.cloud, limit.link, limit.sold, own)


def _is_own(system: System, disk: Device, found: Plateau) -> bool:
    """Whether the rate is the load's own. In a cloud a load of just the rate that is sold is less likely."""
    return served(disk, found) and not (is_rented(system) and is_paced(disk, found))


def _has_slowed(disk: Device, found: Plateau) -> bool:
    """Whether requests take three times as long as in quieter times, also where most of the log is at the plateau."""
    quiet = quieter(disk, found)
    latency = disk.values("latency_s")
    return bool(quiet.any() and middle(latency[found.chosen]) >= 3 * middle(latency[quiet]))


def denied(system: System, disk: Device, rate: str, chosen: Flags) -> bool:
    """Whether the cloud's own counters say of these moments that no limit of a volume is passed or nearly used up."""
    known = False
    for volume in {id(each): each for each in (disk, *system.of(Layer.CLOUD_VOLUME))}.values():
        for metric in _OF[rate]:
            said = volume.values(metric) if volume is disk else onto(disk, volume, metric)
            values = said[chosen & np.isfinite(said)]
            if len(values) < 0.5 * chosen.sum():
                continue
            if (values >= (_PASSED if "exceeded" in metric else _NEARLY)).mean() >= _LASTING:
                return False
            known = True
        if known and volume is disk:
            return True
    return known


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


def _without_rise(system: System, disk: Device, found: Plateau, limit: _Limit) -> float:
    """How sure a limit is that the whole log is at; zero where nothing speaks for one."""
    slow = middle(disk.values("latency_s")[found.chosen]) > tier_of(system, disk).target_s
    if not limit.listed or limit.link or not slow:
        return 0.0
    rates = disk.values(found.metric)[worked(disk)]
    # The first and the last interval may hold less.
    off = np.abs(rates / found.level - 1)
    scatter = float(np.std(rates[off <= NEAR]) / found.level)
    held = np.mean(off <= _EXACT) >= 0.9 and np.nanmax(rates) <= (1 + NEAR) * found.level
    rented = is_rented(system)
    if scatter > _STILL or limit.off > _EXACT or not held:
        # A cloud's own figure of a volume that it lets wait, and never lets go beyond its limit.
        mostly = np.mean(off <= _MEAN) >= _MOSTLY
        capped = mostly and np.nanmax(rates) <= (1 + _EXACT) * found.level and limit.off <= _EXACT
        return 0.55 if capped and rented and disk.layer is Layer.CLOUD_VOLUME else 0.3
    # Only where the cloud is known are its limits more than numbers that many loads may have.
    return 0.8 if limit.sure > 0.8 else 0.6 if rented else 0.45


def _rate(found: Plateau) -> str:
    return f"{number(found.level)} IOPS" if found.metric == "iops" else megabytes(found.level)


def _limit(system: System, disk: Device, found: Plateau, kind: str) -> _Limit | None:
    """What the level is a limit of; None where nothing speaks for one."""
    fact = "provisioned_iops" if found.metric == "iops" else "provisioned_bytes_per_s"
    described = {each.subject for each in system.facts if each.name == "volume_type"}
    for each in system.facts:
        if disk.device in described and each.subject != disk.device:
            continue
        if each.name == fact and (off := _off(found.level, each.value)) <= NEAR:
            return _Limit(f"what was bought for {each.subject or 'the volume'}", 0.9, off)
        if each.name == "volume_bytes" and (by_size := _by_size(system, found, each)) is not None:
            return by_size
    link = _link(system, disk, found)
    sold = _sold(system, disk, found, kind)
    if link is not None and (sold is None or link.sure >= sold.sure):
        return link
    if sold is not None or system.limits.near(found.metric, found.level, kind, NEAR, of_type=type_of(system, disk)):
        return sold
    held = found.spread <= _STRICT and found.load_growth >= 2 and not _at_own_rate(disk, found)
    if held and _is_round(found.level) and (sure := _of_round(system, disk, found)):
        return _Limit("a round number, as limits are", sure, 0.0, listed=False)
    # What else a cloud's volume keeps to is what was bought with it, of which its metrics say nothing.
    bought = disk.layer is Layer.CLOUD_VOLUME and found.spread <= _MEAN and found.load_growth >= 2
    if bought and has_risen(disk, found) and not _at_own_rate(disk, found):
        return _Limit("a limit as volumes of a cloud have, or their machine", _BOUGHT, 0.0, listed=False)
    return None


def _by_size(system: System, found: Plateau, size: Fact) -> _Limit | None:
    """The limit that a volume of this size has, where its type's limits grow with the size."""
    kind, volume = system.fact("volume_type", size.subject), size.subject
    try:
        large = float(size.value)
    except ValueError:
        return None
    limits: dict[str, float] = {}
    if kind == "gp2" and found.metric == "iops":
        limits["3 IOPS per GiB"] = 3 * large / 2**30
    elif kind in DISKS and found.metric == "bytes_per_s":
        of = DISKS[kind]
        limits[f"{of.baseline} MiB/s per TiB"] = of.baseline_mib(large) * 2**20
        limits[f"the burst of {of.burst} MiB/s per TiB"] = of.burst_mib(large) * 2**20
    for words, limit in limits.items():
        if limit > 0 and (off := abs(found.level / limit - 1)) <= NEAR:
            return _Limit(f"{words} of the {kind} volume {volume}", 0.9, off)
    return None


def _sold(system: System, disk: Device, found: Plateau, kind: str) -> _Limit | None:
    """A limit of the tables that the volume may have."""
    rates = [middle(disk.values(metric)[found.chosen]) for metric in ("iops", "bytes_per_s")]
    own, limits = _at_own_rate(disk, found), []
    credited, of_type = disk.has("burst_balance_percent"), type_of(system, disk)
    for cap in system.limits.near(found.metric, found.level, kind, NEAR, credited=credited, of_type=of_type):
        off = abs(found.level / float(getattr(cap, found.metric)) - 1)
        sure = sold_there(system, disk, cap.cloud)
        if own and cap.cloud is not None and sure < KNOWN:
            # One request after the other: the pace of a device, unless the volume is one that is sold so.
            sure = 0.0 if sure < SURE else DOUBTFUL
        if sure <= DOUBTFUL and not is_hard(disk, found):
            continue  # There is no such disk in that cloud: a rate near its limit is a chance.
        if system.limits.holds(cap, *rates):
            limits.append(_Limit(f"a known limit ({cap.name})", sure, off, cloud=cap.cloud, sold=cap.name))
        elif found.spread <= _STRICT:
            # The size of the limit is a usual one, but this volume does more than that one's other limit allows.
            limits.append(_Limit("a size in which limits are sold", min(sure, 0.6), off, listed=False))
    best = min(limits, key=lambda each: (-each.sure, each.off), default=None)
    return best if best is not None and best.sure else None


def _at_own_rate(disk: Device, found: Plateau) -> bool:
    """Whether a device would reach the rate with one request after the other, each as long as in quieter times."""
    usual_s = middle(disk.values("latency_s")[quieter(disk, found)])
    return bool(abs(usual_s * middle(disk.values("iops")[found.chosen]) - 1) <= _ONE)


def _of_round(system: System, disk: Device, found: Plateau) -> float:
    """How sure a round number is a limit.

    Where as much is outstanding all along, so many threads may make it by the latency of the device.
    """
    load = disk.load[found.chosen]
    if np.nanstd(load) > TIGHT * np.nanmean(load):
        return 0.6
    slow = middle(disk.values("latency_s")[found.chosen], 90) > tier_of(system, disk).target_s
    rented = is_rented(system)
    return 0.0 if not slow else 0.6 if rented else DOUBTFUL


def _link(system: System, disk: Device, found: Plateau) -> _Limit | None:
    """The link to storage outside of the host whose rate this is. Nobody rents a link to a volume in a cloud."""
    rented = disk.layer is Layer.CLOUD_VOLUME or is_rented(system)
    if found.metric != "bytes_per_s" or rented or is_nvme(disk.device) or not is_hard(disk, found):
        return None
    cap = system.limits.cap(found.metric, found.level, "link", _EXACT)
    if cap is None or cap.bytes_per_s is None:
        return None
    sizes = disk.values("size_bytes")
    alike = abs(middle(sizes[found.chosen]) / middle(sizes[quieter(disk, found)]) - 1) <= _ALIKE
    # Where larger requests come in with the slow time, these may be all that it is.
    off = abs(found.level / cap.bytes_per_s - 1)
    return _Limit(f"the rate of {cap.name}", 0.6 if alike else DOUBTFUL, off, link=True)


def other_limit(system: System, disk: Device, found: Plateau) -> float | None:
    """The limit that goes with the one a plateau shows: on throughput with one on IOPS, or the other way round."""
    metric = "bytes_per_s" if found.metric == "iops" else "iops"
    bought = next((each.value for each in system.facts if each.name == f"provisioned_{metric}"), None)
    if bought is not None and _off(1.0, bought) < math.inf:
        return float(bought)
    credited, of_type = disk.has("burst_balance_percent"), type_of(system, disk)
    near = system.limits.near(found.metric, found.level, "volume", NEAR, credited=credited, of_type=of_type)
    cap = next(iter(near), None)
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
    for disks in _groups(system):
        whole = _sum(disks)
        loaded = [disk for disk in disks if disk.mean("iops") > _LOADED * whole.mean("iops")]
        for metric in ("iops", "bytes_per_s"):
            found = plateau(whole, metric)
            if found is None or len(loaded) < 2 or any(plateau(disk, metric) for disk in loaded):
                continue
            if (found.load_growth < 2 and found.latency_growth < 3) or served(whole, found):
                continue
            spreads = [_spread(disk.values(metric)[found.chosen]) for disk in loaded]
            cap = system.limits.cap(metric, found.level, "instance")
            if found.chosen.sum() >= FEWEST and min(spreads) > 3 * max(found.spread, 0.005):
                words = f"All disks together never exceed {_rate(found)} (within {share(found.spread)}); each alone "
                evidence = seen(whole, f"{words}varies by {share(min(spreads))} or more.", found.chosen)
                limit = f", the limit of {cap.name}" if cap else ""
                return Throttle(f"all volumes together are at {_rate(found)}{limit}", 0.85 if cap else 0.7, (evidence,))
    return None


def shared(system: System) -> tuple[Throttle, list[Device]] | None:
    """A level sum of volumes whose requests all wait as much longer, though each volume is level, too: with a mix that
    never changes the parts of a shared limit look like limits of their own. With the volumes; None without.
    """
    for disks in _groups(system):
        whole = _sum(disks)
        loaded = [disk for disk in disks if disk.mean("iops") > _LOADED * whole.mean("iops")]
        plateaus = [each for m in ("iops", "bytes_per_s") if (each := plateau(whole, m)) and not served(whole, each)]
        if len(loaded) < 2 or not plateaus:
            continue
        found = min(plateaus, key=lambda each: each.spread)
        within = _WITH_EACH_OTHER if _wait_together(loaded) else 2 * _STILL
        if found.load_growth < 2 or not (has_risen(whole, found) and is_hard(whole, found, within)):
            continue
        quiet = quieter(whole, found)
        means = [[middle(disk.values("latency_s")[chosen]) for chosen in (found.chosen, quiet)] for disk in loaded]
        waits = [then - usual for then, usual in means]
        longer = all(then >= _SLOWED * usual and then >= _LEAST_S for then, usual in means)
        if not longer or max(waits) > (1 + _EQUAL) * min(waits):
            continue
        if any((own := throttled(system, disk)) is not None and own.confidence > _BOUGHT for disk in loaded):
            continue
        words = (
            f"Together they never exceed {_rate(found)} (within {share(max(found.spread, 0.01))}), and in these times "
            f"a request waits {time(min(waits))} to {time(max(waits))} longer, whichever it goes to."
        )
        cap = system.limits.cap(found.metric, found.level, "instance")
        limit = f", the limit of {cap.name}" if cap else ""
        # Requests of one size: the log does not tell which of the two is limited.
        other = "".join(f" ({_rate(each)})" for each in plateaus if each is not found and cap is None)
        evidence = (seen(whole, words, found.chosen),)
        return Throttle(f"together they are at {_rate(found)}{other}{limit}", 0.55, evidence), loaded
    return None


def _wait_together(disks: list[Device]) -> bool:
    """Whether the latencies of disks rise and fall as one: what they wait for is the same."""
    first, *others = (disk.values("latency_s") for disk in disks)
    return all(correlation(first, other) >= _AS_ONE for other in others)


def _groups(system: System) -> Iterator[list[Device]]:
    """Disks that may have a limit in common: those of an adapter or a host, and a cloud's volumes."""
    yield from (disks for _, disks in adapters(system))
    clouds = system.of(Layer.CLOUD_VOLUME)
    alike = [each for each in clouds if np.array_equal(each.times_ns, clouds[0].times_ns)]
    if len(alike) > 1:
        yield alike


def _spread(values: np.ndarray) -> float:
    return float(np.nanstd(values) / np.nanmean(values)) if np.nanmean(values) > 0 else 0.0


def _sum(disks: list[Device]) -> Device:
    """One device that is the sum of others with the same moments; its latency follows from Little's law."""
    measured = {name: np.nansum([disk.values(name) for disk in disks], axis=0) for name in ("iops", "bytes_per_s")}
    measured["outstanding_mean"] = np.nansum([disk.load for disk in disks], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        measured["latency_s"] = np.where(measured["iops"] > 0, measured["outstanding_mean"] / measured["iops"], np.nan)
    return replace(disks[0], layer=Layer.CLOUD_INSTANCE, device="all disks", measured=measured, _derived={})
