"""Exact sign-flip permutation test: how often would random signs give a mean at least as far from zero?

It assumes only that a round's log ratio is as likely to be negative as positive when there is no difference. With n
rounds no p value below 2 / 2**n is possible: 0.0625 for five.
"""

from __future__ import annotations

import numpy as np

from fathom.analysis.interval import Floats

EXACT_UP_TO = 32
"""Rounds up to which all 2**n sign patterns are counted (by halves: 2 x 2**16 sums at most)."""

_RANDOM_FLIPS = 100_000


def sign_flip_p(logs: Floats, seed: int) -> float | None:
    """Two-sided p value for a one-dimensional array of log ratios; None below 2. `seed` is used beyond EXACT_UP_TO."""
    n = len(logs)
    if n < 2:
        return None
    scale = float(np.abs(logs).max())
    if scale == 0.0:
        return 1.0
    # The tolerance lets patterns that tie with the observed sum up to rounding count, as they must.
    threshold = abs(float(logs.sum())) - 1e-9 * scale * n
    if n <= EXACT_UP_TO:
        return _share_beyond(_signed_sums(logs[: n // 2]), _signed_sums(logs[n // 2 :]), threshold)
    signs = np.random.default_rng(seed).integers(0, 2, (_RANDOM_FLIPS, n), dtype=np.int8) * 2 - 1
    beyond = int((np.abs(signs @ logs) >= threshold).sum())
    return (beyond + 1) / (_RANDOM_FLIPS + 1)


def _signed_sums(logs: Floats) -> Floats:
    sums = np.zeros(1)
    for value in logs:
        sums = np.concatenate((sums + value, sums - value))
    return sums


def _share_beyond(left: Floats, right: Floats, threshold: float) -> float:
    """Share of pairs with |left + right| >= threshold, counted by binary search in the sorted right half."""
    right = np.sort(right)
    above = len(right) - np.searchsorted(right, threshold - left, side="left")
    below = np.searchsorted(right, -threshold - left, side="right")
    share = float((above + below).sum()) / (len(left) * len(right))
    return min(1.0, share)
