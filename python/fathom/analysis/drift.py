"""Does something change from round to round, beyond chance? A straight line through the rounds, and its t test.

Drift that all variants share cancels in the ratio per round and is only worth a warning. Drift of the ratio itself
means that the answer depends on when one looks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fathom.analysis import student
from fathom.analysis.interval import Floats, is_constant

FEWEST_ROUNDS = 5
ALPHA = 0.01


@dataclass(frozen=True)
class Drift:
    """A significant trend: `change` is the fitted change in log units from the first to the last round."""

    change: float
    p: float


def find_drift(rounds: Floats, logs: Floats) -> Drift | None:
    """A trend of log values over round numbers with p below ALPHA; None without one or below FEWEST_ROUNDS."""
    if len(rounds) < FEWEST_ROUNDS or is_constant(logs) or is_constant(rounds):
        return None
    x, y = rounds - rounds.mean(), logs - logs.mean()
    slope = float(x @ y / (x @ x))
    freedom = len(rounds) - 2
    rest = y - slope * x
    error = float(np.sqrt(rest @ rest / freedom / (x @ x)))
    p = 2 * float(student.tail(abs(slope) / error, freedom)) if error > 0 else 0.0
    return Drift(slope * float(np.ptp(rounds)), p) if p < ALPHA else None
