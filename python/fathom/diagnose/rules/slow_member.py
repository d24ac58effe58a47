"""D27: one disk of several that share a load evenly is slow, and whatever lies over them waits for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.load import FEWEST, middle, worked
from fathom.diagnose.evidence.slow_time import MOSTLY, in_part, of_the_time, slow_time
from fathom.diagnose.evidence.sold import DOUBTFUL
from fathom.diagnose.evidence.surroundings import CONTROLLER, is_loop, is_mount, is_nvme, is_stacked
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.evidence.words import number, seen, time
from fathom.diagnose.rule import LATENCY, RATE, Kind, Rule
from fathom.finding import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_SAME_RATE, _SAME_SIZE, _SAME_WRITES, _SUM = 0.2, 1.5, 0.2, 0.1
"""How near the rates of members are, moment by moment, how near their sizes and shares of writes, and the rate over
them to their sum.
"""
_MOSTLY, _ALL = 0.95, 0.99
"""In which part of the moments, and which part of its bytes, a device does what one above it asks for."""
_WAITS = 0.8
"""Part of its members' latency that what lies over them has at least: it waits for them."""
_NAMED = 4
"""Other members that are named."""
_TIMES, _SUSPECT, _COMPANIONS = 4.0, 2.8, 3
"""How many times as long as on any other member requests take on the slow one; from where on, and beside how many that
are alike, it is a suspicion.
"""


def examine(system: System) -> Iterator[Finding]:
    """Disks that share a load; of two without a device over them that may be chance."""
    stacked = _stacked(system)
    for slow in (each for each in system.disks if not is_mount(each)):
        layers = stacked.get(slow.device, ())
        alike = [each for each in system.disks if each.device not in layers and _shares(slow, each)]
        over = _over(system, slow, alike)
        # Members are told from a device and what it stands on by what lies over them, else by their loads.
        others = alike if over is not None else [each for each in alike if not _stands_on(slow, each)]
        if not others:
            continue
        found = _slower(system, slow, others)
        if found is None:
            continue
        latency, most, chosen = found
        harm = of_storage(system, slow)
        chance = (over is None and len(others) == 1) or latency < _TIMES * most
        certain = "may be" if chance else "is"
        waits = f", and {over.name} waits for it" if over is not None else ""
        yield Finding(
            "D27",
            slow.name,
            f"{slow.name} {certain} the slow one of {len(others) + 1} disks that share a load evenly{waits}: "
            f"{time(latency)}, {time(most)} at most on the others{_when(slow, chosen)}.",
            harm.severity,
            DOUBTFUL if chance else 0.75 if over is not None else 0.65,
            tuple(_evidence(slow, others, over, chosen)),
            harm.sentence,
            "it belongs to another volume than the others, and its load is another one",
            (_look(system, slow, over),),
        )


def _look(system: System, slow: Device, over: Device | None) -> Remedy:
    """The disk itself; below a device of the device mapper it may be one path of several to the same LUN."""
    name = over.name if over is not None and (over.device or "").startswith(("dm-", "mpath")) else None
    paths = name is not None and not is_nvme(slow.device) and CONTROLLER not in system.ruled_out
    named = f" Where {name} is multipath, it is one path: look at its port, cable and switch." if paths else ""
    return Remedy(
        f"Look at {slow.name} itself: errors, a failing medium, a slower model or path. Replace it, or move its data "
        f"to the others.{named}",
        (
            *(("Linux: multipath -ll",) if paths else ()),
            f"Linux: smartctl -x /dev/{slow.device}",
            f"dmesg -T | grep {slow.device}",
            "Windows: Get-PhysicalDisk | Get-StorageReliabilityCounter",
        ),
        "A stripe without redundancy is lost with the disk: take a backup first.",
        "Its latency is that of the others.",
    )


def _slower(system: System, slow: Device, others: Sequence[Device]) -> tuple[float, float, Flags] | None:
    """How long requests take on the slow disk, at most on the others, and when: always, or while it is slow."""
    target, slowest = tier_of(system, slow).target_s, slow_time(system, slow)
    # Whatever lies over members waits for the slow one: none of them is asked for more then.
    if any(abs(_ratio(each.mean("iops", slowest), slow.mean("iops", slowest)) - 1) > _SAME_RATE for each in others):
        return None
    # Of all its moments only where it is slow in most of them: else those between are part of the figures.
    part = slow.seconds[slowest].sum() < MOSTLY * slow.seconds[worked(slow)].sum()
    for times in (_TIMES, _SUSPECT) if len(others) >= _COMPANIONS else (_TIMES,):
        for chosen in (slowest, worked(slow)) if part else (worked(slow), slowest):
            latency, most = slow.mean("latency_s", chosen), max(each.mean("latency_s", chosen) for each in others)
            if latency > target and latency >= times * most:
                return latency, most, chosen
    return None


def _when(slow: Device, chosen: Flags) -> str:
    """How long it is slow, where that is a part of the log."""
    return in_part(slow, chosen) and f" at the same time, {of_the_time(slow, chosen)}"


def _stacked(system: System) -> dict[str | None, set[str]]:
    """Device to what the logs name above or below it, or beside it and not alike: it sees the same requests."""
    parts: dict[str, set[str]] = {}
    found: dict[str | None, set[str]] = {}
    for fact in system.facts:
        if fact.name in {"members", "stands_on"} and fact.subject is not None:
            below = set(fact.value.split(","))
            parts.setdefault(fact.subject, set()).update(below)
            for each in below if fact.name == "stands_on" else ():
                found.setdefault(each, set()).update(below)
    for name in parts:
        for each in _reached(parts, name):
            found.setdefault(name, set()).add(each)
            found.setdefault(each, set()).add(name)
    return found


def _reached(parts: dict[str, set[str]], name: str) -> set[str]:
    """Everything below a device."""
    found: set[str] = set()
    ahead = set(parts[name])
    while ahead:
        found |= ahead
        ahead = {below for each in ahead for below in parts.get(each, ())} - found
    return found


def _shares(one: Device, other: Device) -> bool:
    """Whether two disks complete as many requests of the same size in every moment."""
    if _layer(one) != _layer(other):
        return False  # Linux's own RAID, device mapper and loops see the requests of the disks below them.
    if one is other or one.host != other.host or len(one.times_ns) != len(other.times_ns):
        return False
    both = worked(one) & worked(other) & np.isfinite(other.values("latency_s"))
    if both.sum() < FEWEST or (one.times_ns != other.times_ns).any() or both.sum() < 0.9 * worked(one).sum():
        return False
    off = one.values("iops")[both] / other.values("iops")[both] - 1
    whole = _ratio(one.mean("iops"), other.mean("iops")) - 1
    sizes = _ratio(one.mean("size_bytes"), other.mean("size_bytes"))
    # A data file and its log may be asked as often as each other, too: they are not asked for the same.
    writes = [_ratio(each.mean("write_iops"), each.mean("iops")) for each in (one, other)]
    # Of two caches one may have warmed up for a while.
    even = middle(np.abs(off)) <= _SAME_RATE and abs(middle(off)) <= _SAME_RATE / 2 and abs(whole) <= _SAME_RATE
    alike = not (sizes > _SAME_SIZE or sizes < 1 / _SAME_SIZE) and not abs(writes[0] - writes[1]) > _SAME_WRITES
    return bool(even and alike)


def _layer(disk: Device) -> str:
    """Which kind of Linux's devices it is: one kind may stand on another."""
    return "stacked" if is_stacked(disk.device) else "loop" if is_loop(disk.device) else "disk"


def _stands_on(upper: Device, lower: Device) -> bool:
    """Whether a device passes its requests on to another, which does at least as much at every moment, and sooner.

    Disks that share a load do now more and now less than each other.
    """
    both = worked(upper) & worked(lower)
    metric = "bytes_per_s" if upper.has("bytes_per_s") and lower.has("bytes_per_s") else "iops"
    contains = lower.values(metric)[both] >= _ALL * upper.values(metric)[both]
    sooner = lower.values("latency_s")[both] <= upper.values("latency_s")[both]
    return bool((contains & sooner).mean() >= _MOSTLY)


def _ratio(one: float, other: float) -> float:
    """NaN where there is none: of a disk whose requests have no bytes that anybody counted."""
    return one / other if other else math.nan


def _over(system: System, slow: Device, others: Sequence[Device]) -> Device | None:
    """A device whose requests are the sum of theirs; or its reads are, and its writes go to each, as in a mirror."""
    members = (slow, *others)
    for each in system.disks:
        own = each in members or each.host != slow.host or not others
        if not own and _waits(each, members) and (_is_sum("iops", each, members) or _mirrors(each, members)):
            return each
    return None


def _waits(over: Device, members: Sequence[Device]) -> bool:
    """Whether requests take as long as those of the members: they cannot be done before."""
    rates, latencies = ([each.mean(name) for each in members] for name in ("iops", "latency_s"))
    return bool(over.mean("latency_s") >= _WAITS * np.average(latencies, weights=rates))


def _is_sum(metric: str, over: Device, members: Sequence[Device]) -> bool:
    total = sum(each.mean(metric) for each in members)
    return bool(abs(over.mean(metric) - total) <= _SUM * total)


def _mirrors(over: Device, members: Sequence[Device]) -> bool:
    written = over.mean("write_iops")
    alike = all(abs(each.mean("write_iops") - written) <= _SUM * written for each in members)
    return bool(written > 0 and alike and _is_sum("read_iops", over, members))


def _evidence(slow: Device, others: Sequence[Device], over: Device | None, chosen: Flags) -> Iterator[Evidence]:
    for each in (slow, *others[:_NAMED]):
        used = each.mean("busy_percent", chosen)
        busy = f", busy {number(used)} % of the time" if used > 0 else ""
        did = f"{number(each.mean('iops', chosen))} IOPS at {time(each.mean('latency_s', chosen))}"
        yield seen(each, f"{each.name}: {did}{busy}.", chosen)
    if over is not None:
        mirrors = _mirrors(over, (slow, *others))
        does = "reads the sum of them and writes to each" if mirrors else "does the sum of them"
        rate = f"{number(over.mean('iops'))} IOPS at {time(over.mean('latency_s'))}"
        yield seen(over, f"{over.name} {does}: {rate}.")


RULE = Rule("D27", "slow member of a stripe or mirror", Kind.CAUSE, (RATE, LATENCY), examine)
