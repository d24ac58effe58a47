"""The regime of a volume's load, by the asymptotic bounds of operational analysis: R = R0 + max(0, N/Xmax - R0).

`analysis.knee` fits the same bounds as rate over load. Intervals are percentiles of a bootstrap over blocks of
neighbouring moments, since these depend on each other; its seed is fixed, so that a log has one diagnosis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.analysis.knee import Bounds, fit_bounds
from fathom.diagnose.evidence.load import busy, is_steady, middle

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device

SEED = 1
_FEWEST = 20
_LEVELS = 12
_MOST = 400
_RESAMPLES = 80
_BEYOND, _ALIKE = 1.1, 1.5
_KINDS = 4.0
"""Times as large requests of one moment from which the log has loads of two kinds."""
_ABOVE, _MOST_ABOVE = 1.3, 0.03
"""How far above its bound a moment is clearly, and the share of such moments that a log may have."""
_WAITS = 2.0
"""How many times the latency without waiting requests take where a ceiling is said to be reached."""
_ALWAYS = 0.85
"""Share of the time beyond the knee from which a device is saturated."""
_LEAST_KNEE = 0.8
"""Requests outstanding at the knee, by the fit: of a disk that serves one after the other it is one."""
_BUSIEST = 2
"""Volumes whose regime is looked for."""
_NEAR, _BEND, _MOSTLY = 1.5, 2.0, 0.9
"""How far below its bound a moment may be, also within this factor of the bend, and for which share that must hold."""


@dataclass(frozen=True)
class Interval:
    """A value and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Regime:
    """The fit of one volume: latency without waiting, highest rate, load where they meet; and the share of moments
    beyond it.
    """

    beyond: float
    base_s: Interval
    rate: Interval
    knee: Interval
    seed: int = SEED

    @property
    def is_saturated(self) -> bool:
        """Whether more load only waits, nearly all the time."""
        return self.beyond >= _ALWAYS


def regimes_of(volumes: Sequence[Device]) -> Iterator[tuple[Device, Regime]]:
    """The busiest of some volumes, busiest first, that reach a ceiling."""
    for disk in volumes[:_BUSIEST]:
        found = fit(disk)
        # A load that asks for the same rate all day shows a highest rate as well: only waiting makes it a ceiling.
        if found is None or is_steady(disk):
            continue
        waits = middle(disk.values("latency_s")[busy(disk)]) > _WAITS * found.base_s.value
        # With fewer than one outstanding a device waits for its users; no rate of that load is its highest.
        if waits and found.knee.value >= _LEAST_KNEE:
            yield disk, found


def fit(disk: Device) -> Regime | None:
    """The regime; None where the load never reaches a ceiling, or too little was recorded."""
    load, rate = disk.load, disk.values("iops")
    good = np.isfinite(load) & np.isfinite(rate) & (load > 0.05) & (rate > 0)
    loads, rates = load[good], rate[good]
    if len(loads) < _FEWEST or np.percentile(loads, 95) < 1:
        return None
    step = -(-len(loads) // _MOST)
    loads, rates, sizes = loads[::step], rates[::step], disk.values("size_bytes")[good][::step]
    # Twelve levels of load: the fit tries a border between each two.
    edges = np.unique(np.quantile(loads, np.linspace(0, 1, _LEVELS + 1)))
    found = _bounds(loads, rates, edges)
    if found is None or not _describes(loads, rates, found):
        return None
    many, few = (middle(sizes[each]) for each in (loads > found.n_star, loads <= found.n_star))
    # The latency of small requests and the rate of large ones belong to different devices.
    if not 1 / _ALIKE <= many / few <= _ALIKE and np.isfinite(many / few):
        return None
    # Nor do the bounds of two kinds of requests in turn, both beyond the bend, belong to one load.
    if middle(sizes, 95) > _KINDS * middle(sizes, 5):
        return None
    random = np.random.default_rng(SEED)
    block = max(1, round(len(loads) ** (1 / 3)))
    fits = []
    for _ in range(_RESAMPLES):
        starts = random.integers(0, len(loads), -(-len(loads) // block))
        places = ((starts[:, None] + np.arange(block)) % len(loads)).ravel()[: len(loads)]
        again = _bounds(loads[places], rates[places], edges)
        if again is not None:
            fits.append((1 / again.slope, again.ceiling, again.n_star))
    if len(fits) < _RESAMPLES // 2:
        return None
    low, high = np.percentile(np.array(fits), [2.5, 97.5], axis=0)
    values = (1 / found.slope, found.ceiling, found.n_star)
    base, ceiling, knee = (Interval(v, float(a), float(b)) for v, a, b in zip(values, low, high, strict=True))
    return Regime(float(np.mean(loads > _BEYOND * found.n_star)), base, ceiling, knee)


def _bounds(loads: np.ndarray, rates: np.ndarray, edges: np.ndarray) -> Bounds | None:
    if len(edges) < 3:
        return None
    level = np.clip(np.searchsorted(edges, loads, side="right") - 1, 0, len(edges) - 2)
    middles = np.sqrt(np.maximum(edges[:-1], 1e-9) * edges[1:])
    return fit_bounds(middles[level], rates)


def _describes(loads: np.ndarray, rates: np.ndarray, found: Bounds) -> bool:
    """Whether the bounds hold for the log: next to nothing is above them, and nine of ten moments are near.

    Two regimes in one log, as before and after a limit, have no bounds in common: a fit between them is of neither.
    """
    bound = found.rate(loads)
    above = rates > _ABOVE * bound
    bend = (loads > found.n_star / _BEND) & (loads < found.n_star * _BEND)
    near = (rates >= bound / _NEAR) | (bend & (rates >= bound / _BEND))
    return bool(above.mean() <= _MOST_ABOVE and (near & ~above).mean() >= _MOSTLY)
