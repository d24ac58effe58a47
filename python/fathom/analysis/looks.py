"""The price of looking more than once: one nominal level for every look, so that all looks together err at most 5 %.

Pocock's design (Biometrika 64, 1977) uses the same nominal level at each look. His constants (0.0182 for four looks)
hold for a known variance and equally spaced looks. Here each look is a t test on few rounds at unequal distances; with
0.0182 four looks at 5, 8, 12 and 20 rounds would err in 5.5 % of the cases. So the level is found for the schedule
itself, by simulating the t statistics at all looks under "no difference".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

DEFAULT_LOOKS = (5, 8, 12, 20)
"""Rounds after which a campaign may be stopped, unless the study says otherwise."""

_PATHS = 400_000
_SEED = 20_131_017
_MARGIN_SE = 2.0


def schedule(*, planned: int, max_rounds: int | None, looks: Sequence[int] | None, done: int) -> tuple[int, ...]:
    """The looks that must be paid for, ascending, in rounds.

    Args:
        planned: rounds of the study; a single look if nothing else applies.
        max_rounds: where a campaign that is extended stops at the latest.
        looks: the declared looks; they are paid for from the first one on, whether or not all take place.
        done: rounds seen; more than were declared means that somebody looked and went on, which is paid for too.
    """
    declared = {n for n in looks or (planned,) if n >= 2}
    last = max(max_rounds or 0, done)
    if not declared:
        declared = {max(2, planned)}
    if last > max(declared):
        declared |= {n for n in DEFAULT_LOOKS if max(declared) < n < last} | {last}
    return tuple(sorted(declared))


@lru_cache(maxsize=64)
def nominal_alpha(looks: tuple[int, ...], overall: float) -> float:
    """Two-sided level for each look such that the chance of a false alarm at any of them is at most `overall`.

    Two standard errors of the simulation are taken off, so that the promise is kept in spite of it. The paths are
    drawn by increments (a normal sum and a chi-squared sum of squares per stage), with a fixed seed.
    """
    from scipy.stats import t

    if len(looks) == 1:
        return overall
    rng = np.random.default_rng(_SEED)
    total, squares = np.zeros(_PATHS), np.zeros(_PATHS)
    smallest_p = np.ones(_PATHS)
    before = 0
    for n in looks:
        step = n - before
        added = rng.standard_normal(_PATHS) * np.sqrt(step)
        within = rng.chisquare(step - 1, _PATHS) if step > 1 else 0.0
        total += added
        squares += within + added**2 / step
        spread = np.sqrt(np.maximum(squares - total**2 / n, 0.0) / (n - 1))
        smallest_p = np.minimum(smallest_p, 2 * t.sf(np.abs(total) / np.sqrt(n) / spread, n - 1))
        before = n
    conservative = overall - _MARGIN_SE * np.sqrt(overall * (1 - overall) / _PATHS)
    return float(np.quantile(smallest_p, conservative))
