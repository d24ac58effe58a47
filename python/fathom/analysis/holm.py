"""Several variants against one baseline: Holm's step-down (Scandinavian Journal of Statistics 6, 1979).

The variants are taken by ascending p value; the i-th of m is tested at alpha / (m - i + 1) until one is not
significant, and that one's level holds for all that follow. The levels are returned instead of decisions, so that the
interval shown and the verdict given always agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


def step_down_levels(p_values: Sequence[float], alpha: float, significant: Callable[[int, float], bool]) -> list[float]:
    """The level alpha at which each comparison is judged, in the order given.

    Args:
        p_values: orders the comparisons.
        alpha: level for the whole family.
        significant: whether comparison i is significant at a level; it decides, so that a bootstrap interval can
            decide where p comes from a t test.
    """
    m = len(p_values)
    levels = [alpha] * m
    stopped: float | None = None
    for rank, index in enumerate(sorted(range(m), key=lambda i: p_values[i])):
        level = stopped if stopped is not None else alpha / (m - rank)
        levels[index] = level
        if stopped is None and not significant(index, level):
            stopped = level
    return levels
