"""Two modes in latencies: a mixture of two log-normals against one, by the Bayesian information criterion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Floats

FEWEST = 40
APART = 3.0
BETTER = 10.0
_ROUNDS = 60
_MOST = 2000
"""Moments that the mixture is fitted to; of more of them, as many quantiles."""


@dataclass(frozen=True)
class Modes:
    """Medians of both modes in seconds, the border between them, the slow one's share, and the gain in BIC."""

    low_s: float
    high_s: float
    border_s: float
    high_share: float
    gain: float


def modes(latency: Floats) -> Modes | None:
    """The two modes, at least three times apart and each with a tenth of the moments; None where one is enough."""
    logs = np.log(latency[latency > 0])
    if len(logs) < FEWEST or np.ptp(logs) < math.log(APART):
        return None
    one = _likelihood(logs, np.array([1.0]), np.array([logs.mean()]), np.array([max(logs.std(), 0.01)]))
    even = (np.arange(_MOST) + 0.5) / _MOST
    weights, means, spreads = _fit(logs if len(logs) <= _MOST else np.quantile(logs, even))
    gain = 2 * (_likelihood(logs, weights, means, spreads) - one) - 3 * math.log(len(logs))
    low, high = (float(math.exp(mean)) for mean in means)
    valley = math.log(high / low) > 2 * (spreads[0] + spreads[1])
    if gain < BETTER or high < APART * low or weights.min() < 0.1 or not valley:
        return None
    return Modes(low, high, math.sqrt(low * high), float(weights[1]), gain)


def _fit(logs: Floats) -> tuple[Floats, Floats, Floats]:
    """Expectation maximisation from the quartiles; means ascending."""
    means, weights = np.percentile(logs, [25, 75]), np.array([0.5, 0.5])
    spreads = np.full(2, max(float(logs.std()) / 2, 0.01))
    for _ in range(_ROUNDS):
        parts = _densities(logs, weights, means, spreads)
        parts /= np.maximum(parts.sum(axis=0), 1e-300)
        count = np.maximum(parts.sum(axis=1), 1e-9)
        weights, means = count / len(logs), (parts @ logs) / count
        spreads = np.maximum(np.sqrt((parts * (logs - means[:, None]) ** 2).sum(axis=1) / count), 0.01)
    order = np.argsort(means)
    return weights[order], means[order], spreads[order]


def _densities(logs: Floats, weights: Floats, means: Floats, spreads: Floats) -> Floats:
    z = (logs - means[:, None]) / spreads[:, None]
    found: Floats = weights[:, None] * np.exp(-0.5 * z * z) / (spreads[:, None] * math.sqrt(2 * math.pi))
    return found


def _likelihood(logs: Floats, weights: Floats, means: Floats, spreads: Floats) -> float:
    return float(np.log(np.maximum(_densities(logs, weights, means, spreads).sum(axis=0), 1e-300)).sum())
