"""D20: latency rises for a while although the volume's own load does not: a neighbour uses the same storage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.load import worked
from fathom.diagnose.evidence.saturation import at_ceiling
from fathom.diagnose.evidence.sold import is_rented
from fathom.diagnose.evidence.starved import starved
from fathom.diagnose.evidence.surroundings import VMWARE
from fathom.diagnose.evidence.unexplained import (
    Unexplained,
    WritesAlone,
    may_fill_cache,
    unexplained,
    writes_alone,
)
from fathom.diagnose.evidence.words import number, seen, share, time
from fathom.diagnose.rule import LATENCY, RATE, Kind, Rule
from fathom.finding import Evidence, Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.system import System

_TIMES, _PART = 4.0, 0.1
"""How many times its usual rate a disk must reach in the slow time, and which part of the slow disk's rate."""
_PACED = 0.55
"""How sure it is of a rate that never changes: a limit with few users at one time and many at another looks like it."""
_CARRIED, _AS_SLOW = 0.2, 4.0
"""Part of the slow disk's rate, and how near to its latency, from which one below it serves what a cache missed."""
_OTHERS = Remedy(
    "Ask the storage team what else ran at these times; limit or move it.",
    (),
    "Limits slow the other user down.",
    "Latency at these times is the usual one.",
)
_RENTED = Remedy(
    "Compare the cloud's own latency of the volume in these times. If it is as long, open a case with the provider and "
    "give it volume and times; if it is short, the time is lost in the guest.",
    ("fathom record --print aws", "fathom record --print azure"),
    "None to look.",
    "Latency at these times is the usual one.",
)
_CACHE = Remedy(
    "Look at the write cache below the disk (controller, array, SSD) in these times: whether it is full, or off while "
    "its battery learns or since it failed. Spread the writes over time, or enlarge it.",
    ("storcli64 /call/bbu show all", "ssacli ctrl all show detail"),
    "None to look.",
    "Latency at these times is the usual one.",
)
_STACK = Remedy(
    "See whether one lies below the other. If so, a cache was cold or missed: warm or enlarge it. If not, they share "
    "storage: move the load that ran then.",
    ("lsblk -s",),
    "None to look.",
    "Latency at these times is the usual one.",
)


def examine(system: System) -> Iterator[Finding]:
    """Every disk."""
    for disk in system.volumes:
        found = unexplained(disk)
        # At its highest rate all the time, it needs nobody else to be slower with more outstanding.
        if found is None or at_ceiling(system, disk) is not None or starved(system, disk, found.chosen) is not None:
            continue
        rest = worked(disk) & ~found.chosen
        alone = writes_alone(disk, found.chosen, rest)
        # A volume of a cloud has no cache that anybody could look at.
        if alone is not None and VMWARE not in system.ruled_out:
            yield _cache(system, disk, found, alone)
            continue
        harm = of_storage(system, disk)
        beside, serves = _beside(system, disk, found.chosen)
        cache = may_fill_cache(disk, found.chosen, rest) and VMWARE not in system.ruled_out
        what = "a write cache below it is full, or something else slows it" if cache else "something else slows it"
        if beside is not None:
            what = f"{beside.name} serves it then, as where a cache is cold or misses"
            what = what if serves else f"{beside.name}, below or beside it, is busy then"
        evidence = () if beside is None else (_rates(disk, beside, found.chosen),)
        others = _RENTED if is_rented(system) else _OTHERS
        yield Finding(
            "D20",
            disk.name,
            f"Latency of {disk.name} rises from {time(found.usual_s)} to {time(found.slow_s)} at no more load of its "
            f"own: {what}.",
            harm.severity,
            _PACED if found.paced else 0.65,
            (_compared(disk, found), *evidence),
            harm.sentence,
            "a path failed over, or the array rebuilt or took a snapshot then"
            + (", or the rate is a limit's, and more was asked for in the slow time" if found.paced else ""),
            (_STACK,) if beside is not None else (_CACHE, others) if cache else (others,),
        )


def _cache(system: System, disk: Device, found: Unexplained, alone: WritesAlone) -> Finding:
    harm = of_storage(system, disk)
    words = f"Reads take {time(alone.read_s)} in the slow time, as otherwise: another user would slow them as well."
    return Finding(
        "D20",
        disk.name,
        f"Writes to {disk.name} take {time(alone.slow_s)} instead of {time(alone.usual_s)} at no more load of its own, "
        "and reads as long as before: the write cache below it is full or off.",
        harm.severity,
        0.7,
        (seen(disk, words, found.chosen), _compared(disk, found)),
        harm.sentence,
        "the cache was on and had room in these times",
        (_CACHE,),
    )


def _compared(disk: Device, found: Unexplained) -> Evidence:
    """The slow time beside other times of as much load, not beside all others: nights say nothing of it."""
    others = f"{number(found.usual_iops)} IOPS at {time(found.usual_s)} in {found.alike.sum():,} other intervals"
    words = f"{number(found.slow_iops)} IOPS at {time(found.slow_s)} in the slow time; {others} with as many or more; "
    known = {"size_bytes": "sizes", "write_bytes_per_s": "the share of writes"}
    same = " and ".join(what for metric, what in known.items() if disk.has(metric))
    return seen(disk, f"{words}{same} are the same." if same else f"{words[:-2]}.", found.chosen)


def _beside(system: System, disk: Device, slow: Flags) -> tuple[Device | None, bool]:
    """The disk of the same host that is busy in the slow time only, or serves the slow disk's requests then and few of
    them otherwise; and whether it does the latter.
    """
    below: list[tuple[float, Device]] = []
    beside: list[tuple[float, Device]] = []
    own = _means(disk, disk, slow)
    for other in system.disks:
        if other is disk or other.host != disk.host:
            continue
        then, usual = _means(disk, other, slow)
        parts = then.of(own[0]), usual.of(own[1])
        if parts[0] >= max(_CARRIED, _TIMES * parts[1]) and own[0].latency_s <= _AS_SLOW * then.latency_s:
            # One of the same kind lies beside it.
            (beside if _kind(other) == _kind(disk) else below).append((then.iops, other))
        elif then.iops >= _TIMES * usual.iops and parts[0] >= _PART:
            beside.append((then.iops, other))
    return max(below or beside, key=lambda pair: pair[0], default=(0.0, None))[1], bool(below)


def _kind(disk: Device) -> str:
    return (disk.device or "").rstrip("0123456789")


class _Mean(NamedTuple):
    """Requests per second, and how long one takes, s."""

    iops: float
    latency_s: float

    def of(self, whole: _Mean) -> float:
        """Its rate as a part of another one."""
        return self.iops / whole.iops if whole.iops > 0 else 0.0


def _means(disk: Device, other: Device, slow: Flags) -> tuple[_Mean, _Mean]:
    """Of the other disk, in the slow moments, and in those in which the disk worked otherwise."""
    means = []
    for chosen in (slow, worked(disk) & ~slow):
        then = np.isin(other.times_ns, disk.times_ns[chosen])
        rates = np.nan_to_num(other.values("iops")[then])
        means.append(_Mean(float(rates.mean()) if len(rates) else 0.0, other.mean("latency_s", then)))
    return means[0], means[1]


def _rates(disk: Device, other: Device, slow: Flags) -> Evidence:
    own, found = _means(disk, disk, slow), _means(disk, other, slow)
    then, usual = (
        f"{number(each.iops)} IOPS" + ("" if each.iops > whole.iops else f" ({share(each.of(whole))} as many)")
        for each, whole in zip(found, own, strict=True)
    )
    words = f"{other.name} completes {then} in these times, {usual} otherwise."
    return seen(other, words, np.isin(other.times_ns, disk.times_ns[slow]))


RULE = Rule("D20", "noisy neighbour", Kind.CAUSE, (RATE, LATENCY), examine)
