"""Do consecutive rounds resemble each other? Then they are fewer observations than they are rounds.

Neighbours on a shared machine and temperature change slowly: an interval that takes rounds for independent is too
narrow. The lag-1 correlation of the log ratios is held against those of the same ratios in random orders.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fathom.analysis import student
from fathom.analysis.interval import Floats, is_constant

FEWEST_ROUNDS = 8
ALPHA = 0.05

_ORDERS = 2_000
_SEED = 8_128
_MOST = 0.9
_LEVEL = 0.95


@dataclass(frozen=True)
class Serial:
    """A significant correlation of consecutive rounds.

    Attributes:
        correlation: lag 1, as it is in the rounds.
        p: share of random orders with one as large.
        widening: by how much each end of the interval moves once it is reckoned with, in log units.
    """

    correlation: float
    p: float
    widening: float


def find_serial(logs: Floats) -> Serial | None:
    """A positive correlation of consecutive rounds with p below ALPHA; None without one or below FEWEST_ROUNDS."""
    n = len(logs)
    if n < FEWEST_ROUNDS or is_constant(logs):
        return None
    rest = logs - logs.mean()
    orders = np.random.default_rng(_SEED).permuted(np.tile(rest, (_ORDERS, 1)), axis=1)
    found, by_chance = _lag_1(rest), (orders[:, 1:] * orders[:, :-1]).sum(axis=1) / (rest @ rest)
    p = float((1 + np.count_nonzero(by_chance >= found)) / (1 + _ORDERS))
    if p >= ALPHA:
        return None
    # The mean that is taken off makes the correlation of few rounds look smaller than it is, by about 1 / n.
    true = min(found + 1 / n, _MOST)
    half = float(student.quantile((1 - _LEVEL) / 2, n - 1)) * float(logs.std(ddof=1)) / math.sqrt(n)
    return Serial(found, p, half * (math.sqrt((1 + true) / (1 - true)) - 1))


def _lag_1(rest: Floats) -> float:
    return float(rest[1:] @ rest[:-1] / (rest @ rest))
