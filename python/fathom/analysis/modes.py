"""Are one variant's runs two groups rather than one? A mean between two modes describes neither.

The runs (as logs) are cut in two where that explains most of their variance, with at least two runs on each side.
The share explained is compared with what a single normal group of the same size gives, by simulation. HammerDB issue
#822 is the pattern: six runs of one configuration, three at 123-134 k NOPM and three at 195-206 k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fathom.analysis.interval import Floats

FEWEST_RUNS = 6
"""Below six runs, one normal group explains two such groups too often to tell (METHODOLOGY.md, "Two modes")."""

SMALLEST_DISTANCE = 0.10
ALPHA = 0.005

_FEWEST_PER_MODE = 2
_SIMULATIONS = 20_000
_SEED = 822


@dataclass(frozen=True)
class Modes:
    """Two groups of runs: their geometric means (unit of the values), sizes, and distance as a natural log."""

    low: float
    high: float
    low_runs: int
    high_runs: int

    @property
    def distance(self) -> float:
        """Log of high over low."""
        return math.log(self.high / self.low)


def explained_by_two(logs: Floats) -> tuple[Floats, Floats]:
    """Share of variance that the best cut into two groups explains, and the size of the lower group; last axis."""
    ordered = np.sort(logs, axis=-1)
    n = ordered.shape[-1]
    left = np.arange(_FEWEST_PER_MODE, n - _FEWEST_PER_MODE + 1)
    sums = np.cumsum(ordered, axis=-1)
    total = sums[..., -1:]
    left_sum = sums[..., left - 1]
    between = left * (n - left) / n * (left_sum / left - (total - left_sum) / (n - left)) ** 2
    spread = ((ordered - total / n) ** 2).sum(axis=-1)
    best = between.argmax(axis=-1)
    share = np.take_along_axis(between, best[..., None], axis=-1)[..., 0] / np.where(spread > 0, spread, np.inf)
    return share, left[best].astype(np.float64)


def find_modes(values: Floats) -> Modes | None:
    """Two modes at least 10 % apart among positive values of runs; None where one group explains them well enough."""
    n = len(values)
    if n < FEWEST_RUNS:
        return None
    ordered = np.sort(np.log(values))
    share, lower = explained_by_two(ordered)
    size = int(lower)
    modes = Modes(float(np.exp(ordered[:size].mean())), float(np.exp(ordered[size:].mean())), size, n - size)
    if modes.distance < math.log1p(SMALLEST_DISTANCE) or float(share) <= _critical_share(n):
        return None
    return modes


@lru_cache(maxsize=64)
def _critical_share(n: int) -> float:
    """The (1 - ALPHA) quantile of the share for one normal group of n; the share does not depend on its scale."""
    single = np.random.default_rng(_SEED).standard_normal((_SIMULATIONS, n))
    return float(np.quantile(explained_by_two(single)[0], 1 - ALPHA))
