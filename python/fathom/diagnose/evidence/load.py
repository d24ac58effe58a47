"""How a device is loaded: when it is busy, whether its rate is at a ceiling, or its queue at a depth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fathom.diagnose.evidence.device import Device, Flags, Floats
    from fathom.diagnose.evidence.limits import Limits, Queue

FEWEST = 8
"""Busy moments below which nothing is said of a device."""
LARGE_BYTES = 500 * 1024
"""From this size on a request's latency is the time of its transfer."""
IDLE_LOAD = 1.0
"""Below so many requests outstanding a device has nobody queueing."""


def busy(device: Device) -> Flags:
    """Moments at which requests queue: at least one outstanding, and at least a fifth of the log's usual high."""
    load = np.nan_to_num(device.load, nan=0.0)
    if not (load >= IDLE_LOAD).any():
        return np.zeros(len(load), dtype=bool)
    return load >= max(IDLE_LOAD, 0.2 * float(np.percentile(load[load > 0], 95)))


def worked(device: Device) -> Flags:
    """Moments with any request completed."""
    return np.nan_to_num(device.values("iops"), nan=0.0) > 0


def implied_load(device: Device) -> Floats:
    """Requests outstanding by Little's law, flushes and discards included; zero where nothing was completed."""
    rate, latency = device.values("iops"), device.values("latency_s")
    found = np.where(rate == 0, 0.0, rate * latency)
    for kind in ("flush", "discard"):
        found = found + np.nan_to_num(device.values(f"{kind}_iops") * device.values(f"{kind}_latency_s"))
    return found


def middle(values: Floats, share: float = 50) -> float:
    """A percentile of the values that are there; NaN of none."""
    good = values[np.isfinite(values)]
    return float(np.percentile(good, share)) if len(good) else math.nan


_QUARTILES = 1.349
"""Standard deviations of a normal distribution between its quartiles."""


def scatter(values: Floats) -> float:
    """Relative scatter of the middle half, as a standard deviation: a few intervals that are longer or shorter than
    the log says do not move it.
    """
    return (middle(values, 75) - middle(values, 25)) / (_QUARTILES * middle(values))


def in_a_row(chosen: Flags) -> list[NDArray[np.intp]]:
    """The places of chosen moments, those that follow each other together."""
    places = np.flatnonzero(chosen)
    return np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if len(places) else []


_VARIES = 1.25


def is_steady(device: Device) -> bool:
    """Whether the load asks for nearly the same rate all the time: then more outstanding is no more load."""
    rates = device.values("iops")[worked(device)]
    return middle(rates, 90) < _VARIES * middle(rates, 10)


@dataclass(frozen=True)
class Plateau:
    """A rate that does not rise although more is asked.

    Attributes:
        metric: "iops" or "bytes_per_s".
        level: median of the rate, in the metric's unit.
        spread: coefficient of variation of the rate around it.
        load_growth: 90th over 10th percentile of the requests outstanding of all busy moments.
        latency_growth: the same of the latency.
        chosen: the moments.
    """

    metric: str
    level: float
    spread: float
    load_growth: float
    latency_growth: float
    chosen: Flags


TIGHT = 0.05
"""Relative distance from the median within which a throttle keeps most of its moments."""


def plateau(device: Device, metric: str) -> Plateau | None:
    """The tight ceiling of a rate: at least 60 % of the loaded moments within 5 % of their median, P90 no more than 5 %
    above it, and no moment of the rest of the log clearly above; None without one.

    Where the load goes beyond it only now and then, 90 % of the most loaded moments within 1 % show it as well.
    """
    rates, load = device.values(metric), device.load
    known = np.isfinite(rates) & np.isfinite(load) & (rates > 0)
    loaded = known & busy(device)
    if loaded.sum() < FEWEST:
        return None
    # The ceiling shows where most is outstanding; a mean over an interval that was only partly busy is below it.
    most = 0.25 * np.percentile(load[loaded], 75), 0.5 * np.percentile(load[loaded], 95)
    for least, share, within in ((most[0], 0.6, TIGHT), (most[1], 0.9, TIGHT / 5)):
        chosen = _ceiling(rates, loaded & (load >= least), share, within)
        if chosen is not None:
            level = float(np.median(rates[chosen]))
            if np.percentile(rates[known], 99) > 1.1 * level:
                continue
            latency = device.values("latency_s")[known]
            spread = float(np.std(rates[chosen]) / level)
            return Plateau(metric, level, spread, _growth(load[known]), _growth(latency), chosen)
    return None


_SLOWER, _USUAL = 2.5, 1.35
_FEWEST_FAST, _SHARE_FAST = 5, 0.3
_PACE, _ALWAYS, _MOSTLY, _ALIKE = 0.03, 0.98, 0.95, 1.6
"""How near to its level a paced rate is, in which part of the time, in which part it has one of two latencies, and how
far apart those of the fast time may be: what few and many users wait at a limit is spread further."""
_HARD = 0.01
"""Scatter of a ceiling to which a rate rose; half of it is a ceiling by itself, which no load keeps to."""


def served(device: Device, found: Plateau) -> bool:
    """Whether the volume did the rate of a plateau at its usual latency, too: then it is the rate that the load asks
    for, and something other than a limit slows it.

    A throttle that load goes beyond now and then has such moments as well, those just at the limit: a rate that rose,
    then hardly scatters and never goes above is a limit's all the same.
    """
    rates, iops, latency = device.values(found.metric), device.values("iops"), device.values("latency_s")
    hard = is_hard(device, found) or (is_hard(device, found, _HARD) and has_risen(device, found))
    if hard and not is_paced(device, found):
        return False
    # Larger requests at the same number per second move more: the load's own rate is that of its requests.
    same = np.abs(iops / middle(iops[found.chosen]) - 1) <= TIGHT
    if found.metric == "iops":
        same |= rates >= (1 - TIGHT) * found.level
    known = same & np.isfinite(latency)
    usual = _usual_s(device, found)
    fast = int((known & (latency <= usual)).sum())
    return fast >= _FEWEST_FAST and fast >= _SHARE_FAST * (int(known.sum()) - fast)


def is_paced(device: Device, found: Plateau) -> bool:
    """Whether the whole log keeps to the rate of a hard plateau, at either of two latencies and at none between.

    So does a load that asks for this rate while something else slows the device. The latency at a limit follows the
    load.
    """
    latency = device.values("latency_s")
    known = worked(device) & np.isfinite(latency)
    usual = _usual_s(device, found)
    fast, slow = known & (latency <= usual), known & (latency >= _SLOWER / _USUAL * usual)
    level = known & (np.abs(device.values(found.metric) / found.level - 1) <= _PACE)
    if not is_hard(device, found) or min(fast.sum(), slow.sum()) < FEWEST or level.sum() < _ALWAYS * known.sum():
        return False
    apart = (fast | slow).sum() >= _MOSTLY * known.sum()
    return bool(apart and middle(latency[fast], 90) <= _ALIKE * middle(latency[fast], 10))


def _usual_s(device: Device, found: Plateau) -> float:
    """The highest latency that is the usual one beside a plateau."""
    latency = device.values("latency_s")
    usual = middle(latency[device.values(found.metric) > 0], 20)
    return min(_USUAL * usual, middle(latency[found.chosen], 75) / _SLOWER)


def is_hard(device: Device, found: Plateau, within: float = _HARD / 2) -> bool:
    """Whether a plateau hardly scatters and next to nothing is above it."""
    return found.spread <= within and middle(device.values(found.metric), 99) <= (1 + 2 * within) * found.level


def quieter(device: Device, found: Plateau) -> Flags:
    """The moments of a rate clearly below the plateau's, at a lower latency."""
    rates, latency = device.values(found.metric), device.values("latency_s")
    below = (rates > 0) & (rates <= 0.9 * found.level) & ~found.chosen
    return below & (latency * 1.5 <= middle(latency[found.chosen], 90))


def has_risen(device: Device, found: Plateau) -> bool:
    """Whether the rate rose to the plateau from a quieter time of some length."""
    return int(quieter(device, found).sum()) >= max(3.0, 0.05 * int(worked(device).sum()))


def _ceiling(rates: Floats, loaded: Flags, share: float, within: float) -> Flags | None:
    """The loaded moments near their median; None if that is no ceiling."""
    if loaded.sum() < FEWEST:
        return None
    level = float(np.median(rates[loaded]))
    near = np.abs(rates / level - 1) <= within
    if near[loaded].mean() < share or np.percentile(rates[loaded], 90) > (1 + TIGHT) * level:
        return None
    return loaded & near


def _growth(values: Floats) -> float:
    good = values[np.isfinite(values) & (values > 0)]
    return float(np.percentile(good, 90) / np.percentile(good, 10)) if len(good) >= FEWEST else 1.0


@dataclass(frozen=True)
class Pinned:
    """A queue that stays at a depth.

    Attributes:
        queue: the known queue of that depth.
        level: its depth.
        share: of the busy moments.
        chosen: the moments.
    """

    queue: Queue
    level: float
    share: float
    chosen: Flags


_ROUNDING = 0.01


def pinned(load: Floats, limits: Limits, *scopes: str, depth: float | None = None) -> Pinned | None:
    """Whether a number of outstanding requests has its most frequent value at its maximum, near a known depth.

    Args:
        load: outstanding requests.
        limits: the known depths.
        scopes: of queues that may be meant.
        depth: the real depth, where the log tells it; it counts beside the known ones.
    """
    good = np.nan_to_num(load, nan=0.0)
    running = good >= IDLE_LOAD
    if running.sum() < FEWEST:
        return None
    top = float(np.max(good))
    tolerance = max(2.0, 0.02 * top)
    chosen = good >= top - tolerance
    part = float(chosen[running].mean())
    # A count that comes back to the same maximum is a cap; a mean must stay there for longer.
    least = 0.05 if (good == top).sum() >= 5 else 0.1
    if chosen.sum() < 5 or part < least or not _is_mode(good[running], top, tolerance):
        return None
    from fathom.diagnose.evidence.limits import Queue

    if depth is not None and abs(top - depth) <= tolerance:
        queue: Queue | None = Queue("the driver's own queue depth", round(depth), scopes[0], "the log")
    else:
        queue = limits.queue(top, 2.0, *scopes)
        # A count sees some requests that have just left; a mean over an interval is at most the depth.
        if queue is not None and top % 1 and top > (1 + _ROUNDING) * queue.depth:
            queue = None
    return None if queue is None else Pinned(queue, top, part, chosen)


def _is_mode(load: Floats, top: float, tolerance: float) -> bool:
    """Whether moments collect at the maximum: more than in any other window, or twice as many as just below it; of a
    count, which comes back to the very same number, twice as often as any other number.
    """
    numbers, often = np.unique(load, return_counts=True)
    if len(numbers) > 1 and often[-1] >= 5 and often[-1] >= 2 * often[:-1].max():
        return True
    width = 2 * tolerance
    starts = [low for low in np.arange(1.0, top, width) if low + width < top - width]
    counts = [int(((load >= low) & (load <= low + width)).sum()) for low in starts]
    near = [count for low, count in zip(starts, counts, strict=True) if low >= 0.5 * top]
    at_top = int((load >= top - width).sum())
    return not counts or at_top >= max(counts) or bool(near and at_top >= 2 * max(near))
