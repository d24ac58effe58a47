"""The 90 % interval within the margin is the two one-sided tests of statsmodels, at 5 %."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.weightstats import ttost_paired

from fathom.analysis.interval import t_interval
from fathom.analysis.verdict import log_margin


@settings(deadline=None, max_examples=200)
@given(
    seed=st.integers(0, 2**32 - 1),
    rounds=st.integers(3, 19),
    ratio=st.floats(0.95, 1.05),
    cv=st.floats(0.002, 0.05),
    margin=st.floats(0.005, 0.1),
)
def test_interval_within_the_margin_is_ttost_paired(
    seed: int, rounds: int, ratio: float, cv: float, margin: float
) -> None:
    rng = np.random.default_rng(seed)
    base = np.log(1000.0) + cv * rng.standard_normal(rounds)
    ours = np.log(1000.0 * ratio) + cv * rng.standard_normal(rounds)
    delta = log_margin(margin)
    p = ttost_paired(ours, base, -delta, delta)[0]
    found = t_interval(ours - base, 0.90)
    inside = bool(found.low > -delta and found.high < delta)
    assert inside == (p < 0.05) or p == pytest.approx(0.05, abs=1e-9)
