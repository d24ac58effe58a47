"""The price of looking more than once: one nominal level for every look, so that all looks together err at most 5 %.

Pocock's design (Biometrika 64, 1977) uses the same nominal level at each look. His constants (0.0182 for four looks)
hold for a known variance and equally spaced looks. Here each look is a t test on few rounds at unequal distances; with
0.0182 four looks at 5, 8, 12 and 20 rounds would err in 5.5 % of the cases. So the level is found for the schedule
itself, by simulating the t statistics at all looks under "no difference".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from fathom.analysis.interval import BOOTSTRAP_FROM, Floats

DEFAULT_LOOKS = (5, 8, 12, 20)
"""Rounds after which a campaign may be stopped, unless the study says otherwise."""

_PATHS = 200_000
_SEED = 20_131_017
_STANDARD_ERRORS = 2.0
_BOOTSTRAP_ALLOWANCE = 0.05


def schedule(
    *, planned: int, max_rounds: int | None, looks: Sequence[int] | None, seen: Sequence[int], done: int
) -> tuple[int, ...]:
    """The looks that must be paid for, ascending, in rounds.

    Args:
        planned: rounds of the study; a single look if nothing else applies.
        max_rounds: where a campaign that may be extended stops at the latest; without `looks` the default ones count.
        looks: the declared looks; they are paid for from the first one on, whether or not all take place.
        seen: rounds after which a verdict was shown.
        done: rounds there are now: the verdict that this is asked for is a look as well, also before the planned end.
    """
    wanted = set(looks or ())
    if not wanted and max_rounds is not None and max_rounds > planned:
        wanted = {planned, max_rounds} | {n for n in DEFAULT_LOOKS if planned < n < max_rounds}
    last = max(wanted, default=planned)
    wanted |= {n for n in seen if n <= done} | {done, max(last, done)}
    return tuple(sorted(n for n in wanted if n >= 2)) or (2,)


def nominal_alpha(looks: tuple[int, ...], overall: float) -> float:
    """Two-sided level for each look such that the chance of a false alarm at any of them is at most `overall`.

    A single look costs nothing. Otherwise two standard errors of the simulation are taken off, so that the promise is
    kept in spite of it, and an allowance where the last looks use the bootstrap, whose tail is a little too light at
    20 rounds (METHODOLOGY.md, "Looks").
    """
    return overall if len(looks) == 1 else _level(_smallest_p(looks), looks, overall)


def _level(smallest: Floats, looks: tuple[int, ...], overall: float) -> float:
    allowance = _BOOTSTRAP_ALLOWANCE * overall if looks[-1] >= BOOTSTRAP_FROM else 0.0
    conservative = overall - allowance - _STANDARD_ERRORS * np.sqrt(overall * (1 - overall) / _PATHS)
    return float(np.quantile(smallest, conservative))


def taken(
    *, planned: int, max_rounds: int | None, looks: Sequence[int] | None, seen: Sequence[int], done: int
) -> dict[int, tuple[int, ...]]:
    """Every look that was taken and the one now, by rounds, with the schedule by which it was judged at its time."""
    return {
        now: schedule(planned=planned, max_rounds=max_rounds, looks=looks, seen=[n for n in seen if n < now], done=now)
        for now in sorted({*(n for n in seen if n < done), done})
        if now >= 2
    }


def false_alarms(judged: Mapping[int, tuple[int, ...]], overall: float) -> float:
    """How often chance alone shows a difference at any of the looks that were taken, each at the level of its time.

    A look at the planned end may spend all of `overall`: whatever is looked at later comes on top.
    """
    if len(judged) <= 1:
        return overall
    moments = tuple(judged)
    found = _p_values(moments)
    smallest, missed = np.ones(_PATHS), np.ones(_PATHS, dtype=np.bool_)
    for place, looks in enumerate(judged.values()):
        smallest = np.minimum(smallest, found[place])
        # Paths are drawn look by look: those of a schedule begin as those of a longer one do.
        begins = len(looks) > 1 and looks == moments[: place + 1]
        missed &= found[place] >= (_level(smallest, looks, overall) if begins else nominal_alpha(looks, overall))
    return float(1 - missed.mean())


@lru_cache(maxsize=8)
def _smallest_p(looks: tuple[int, ...]) -> Floats:
    """The smallest p value of the t tests at all looks, for many campaigns without a difference."""
    smallest: Floats = _p_values(looks).min(axis=0)
    return smallest


def _p_values(looks: tuple[int, ...]) -> Floats:
    """The p value of the t test at each look, for many campaigns without a difference.

    The paths are drawn by increments (a normal sum and a chi-squared sum of squares per stage), with a fixed seed.
    """
    from scipy.stats import t

    rng = np.random.default_rng(_SEED)
    total, squares = np.zeros(_PATHS), np.zeros(_PATHS)
    found = np.ones((len(looks), _PATHS))
    before = 0
    for place, n in enumerate(looks):
        step = n - before
        added = rng.standard_normal(_PATHS) * np.sqrt(step)
        within = rng.chisquare(step - 1, _PATHS) if step > 1 else 0.0
        total += added
        squares += within + added**2 / step
        spread = np.sqrt(np.maximum(squares - total**2 / n, 0.0) / (n - 1))
        found[place] = 2 * t.sf(np.abs(total) / np.sqrt(n) / spread, n - 1)
        before = n
    return found
