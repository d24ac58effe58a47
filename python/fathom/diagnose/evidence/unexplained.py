"""Latency that the volume's own load does not explain: slow periods with no more requests of the same kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence.load import LARGE_BYTES, TIGHT, is_paced, middle, plateau, scatter, served, worked
from fathom.diagnose.evidence.slow_time import stretches

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags, Floats

TIMES = 2.5
_SHORTEST = 5
_AS_MUCH = 0.9
_SAME_SIZE, _SAME_WRITES, _MORE = 0.4, 0.1, 0.2
"""How far apart sizes (relative) and shares of writes of requests of one kind may be, and how many more writes, as a
part of those of another time, are more load.
"""
_HELD_RATES = ("iops", "bytes_per_s", "read_iops", "write_iops", "read_bytes_per_s", "write_bytes_per_s")
"""Rates that a limit may hold: of all requests, or of one way alone."""
_MOST = 0.5
"""Part of all requests, or bytes, from which those of one way are what waits: a few writes may come by the clock."""
_HELD, _FEWEST_HELD, _STILL, _STILLER = 0.85, 15, 0.01, 2.5
"""Share and number of slow moments at one rate, a limit's scatter, and times as much that the rate scattered before."""
_MAY_BE_STILL = 0.015
"""Scatter from which on a rate is not a limit's: below, it is no proof of another user."""
_LEAST_S = 0.003
"""A latency below this harms nobody, however it rose."""


@dataclass(frozen=True)
class Unexplained:
    """Latency and rate in the slow time, and in the other moments with at least nearly as many requests.

    Attributes:
        usual_s, slow_s: latency.
        usual_iops, slow_iops: rate.
        chosen: the slow moments.
        alike: the other moments with such a load.
        paced: whether the rate is the same all the time, as a limit's may be, too.
    """

    usual_s: float
    slow_s: float
    usual_iops: float
    slow_iops: float
    chosen: Flags
    alike: Flags
    paced: bool


def slow_part(disk: Device) -> tuple[Flags, Flags] | None:
    """The stretches of several times the usual latency, and the rest of the log; None without any."""
    latency, rate = disk.values("latency_s"), disk.values("iops")
    known = worked(disk) & np.isfinite(latency) & (rate * disk.seconds >= 10)
    if known.sum() < 6 * _SHORTEST:
        return None
    usual = float(np.percentile(latency[known], 30))
    slow = known & (latency >= max(TIMES * usual, _LEAST_S))
    chosen, rest = stretches(slow), known & ~slow
    few = chosen.sum() < _SHORTEST or chosen.sum() < 0.8 * slow.sum() or rest.sum() < 2 * _SHORTEST
    return None if few else (chosen, rest)


def unexplained(disk: Device) -> Unexplained | None:
    """The slow stretches; None without any, or where the load differs."""
    parts = slow_part(disk)
    if parts is None or fallen(disk, *parts, still=_MAY_BE_STILL) is not None:
        return None
    chosen, rest = parts
    latency, rate = disk.values("latency_s"), disk.values("iops")
    # At other times as much was done at the usual latency, and no ceiling of its own was reached in the slow time.
    as_much = middle(rate[chosen]) <= np.percentile(rate[rest], 90)
    alike = rest & (rate >= _AS_MUCH * middle(rate[chosen]))
    kind = same_kind(disk, chosen, rest) and same_kind(disk, chosen, alike) and not _writes_more(disk, chosen, alike)
    if not kind or not as_much or any(_ceiling(disk, metric, chosen) for metric in ("iops", "bytes_per_s")):
        return None
    # Requests in flight without the slowness: more of them would explain it.
    asked = middle((rate * latency)[chosen]) / middle((rate * latency)[rest])
    if middle(rate[chosen]) < 0.5 * middle(rate[rest]) and asked < 0.8:
        return None
    # Large requests share the bandwidth: each takes longer with every other one, and in all they move no less.
    moved = disk.values("bytes_per_s")
    if middle(disk.values("size_bytes")[chosen]) >= LARGE_BYTES and middle(moved[chosen]) > 0.8 * middle(moved[rest]):
        return None
    level = plateau(disk, "iops")
    return Unexplained(
        middle(latency[alike]), middle(latency[chosen]), middle(rate[alike]), middle(rate[chosen]),
        chosen, alike, level is not None and is_paced(disk, level),
    )  # fmt: skip


def _ceiling(disk: Device, metric: str, slow: Flags) -> bool:
    """Whether the slow moments are at the highest rate, which was not done at the usual latency, too; a load with the
    same rate all day falls below it when something else takes its share.
    """
    found = plateau(disk, metric)
    return found is not None and not served(disk, found) and bool((found.chosen & slow).sum() >= 0.5 * slow.sum())


@dataclass(frozen=True)
class Fallen:
    """A lower rate that never moves: its metric, its level, the scatter around it, and the rate before."""

    metric: str
    level: float
    spread: float
    before: float


def fallen(disk: Device, slow: Flags, rest: Flags, still: float = _STILL) -> Fallen | None:
    """A rate that the slow time holds, below what was done before: a limit's, for others leave more at one time than at
    another. `still`: how much it may scatter.
    """
    for metric in _HELD_RATES:
        rates = disk.values(metric)
        level, before = middle(rates[slow]), middle(rates[rest], 90)
        near = slow & (np.abs(rates / level - 1) <= TIGHT)
        whole = middle(disk.values("iops" if metric.endswith("iops") else "bytes_per_s")[slow])
        most = level <= _AS_MUCH * before and level >= _MOST * whole
        if near.sum() < max(_FEWEST_HELD, _HELD * slow.sum()) or not most:
            continue
        spread, other = (scatter(rates[each]) for each in (near, rest & (rates > level)))
        if spread <= still and spread * _STILLER <= other:
            return Fallen(metric, level, spread, before)
    return None


def same_kind(disk: Device, one: Flags, other: Flags) -> bool:
    """Whether requests of two parts of the log are alike in size and in the share of writes."""
    sizes, writes = ([middle(values[each]) for each in (one, other)]
                     for values in (disk.values("size_bytes"), _share_of_writes(disk)))  # fmt: skip
    # What is not known does not differ.
    return not (abs(sizes[0] / sizes[1] - 1) > _SAME_SIZE or abs(writes[0] - writes[1]) > _SAME_WRITES)


def _writes_more(disk: Device, slow: Flags, alike: Flags) -> bool:
    """Whether clearly more is written in the slow time: then these writes may be what slows it, as of a checkpoint."""
    writes = disk.values("write_iops")
    then, otherwise = (middle(writes[each]) for each in (slow, alike))
    return bool(then - otherwise > max(_MORE * otherwise, _SAME_WRITES * middle(disk.values("iops")[slow])))


_FEWEST_READS, _SAME_READS = 5.0, 1.3
"""Reads of an interval whose mean counts, and how much longer they may take where writes alone are slow."""
_WRITES, _CACHED_S = 0.8, 1e-3
"""Share of writes, and their latency before, at which a write cache may have taken them."""


def may_fill_cache(disk: Device, slow: Flags, fast: Flags) -> bool:
    """Whether a write cache below the disk may have been filled: mostly writes, at a cache's latency before."""
    fast_s = middle(disk.values("latency_s")[fast])
    return bool(middle(_share_of_writes(disk)[slow]) >= _WRITES and fast_s <= _CACHED_S)


@dataclass(frozen=True)
class WritesAlone:
    """Latency of writes before and in the slow time, and of reads, which is the same."""

    usual_s: float
    slow_s: float
    read_s: float


def writes_alone(disk: Device, slow: Flags, rest: Flags) -> WritesAlone | None:
    """Whether only writes became slow, which a cache had taken before: another user would have slowed reads as well."""
    often = disk.values("read_iops") * disk.seconds >= _FEWEST_READS
    reads, writes = disk.values("read_latency_s"), disk.values("write_latency_s")
    if min((often & slow).sum(), (often & rest).sum()) < _SHORTEST:
        return None
    before, then = (middle(reads[often & each]) for each in (rest, slow))
    usual, later = (middle(writes[each]) for each in (rest, slow))
    alone = then <= _SAME_READS * before and usual <= _CACHED_S and later >= TIMES * usual
    return WritesAlone(usual, later, then) if alone else None


def _share_of_writes(disk: Device) -> Floats:
    """Of all requests; of all bytes where a log counts requests of both ways together, as sar does."""
    metric = "iops" if disk.has("write_iops") else "bytes_per_s"
    return disk.values(f"write_{metric}") / np.where(worked(disk), disk.values(metric), np.nan)
