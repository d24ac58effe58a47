"""The sign-flip test counts exactly what scipy and brute force count."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from fathom.analysis.permutation import EXACT_UP_TO, sign_flip_p

LOGS = st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=2, max_size=9)


@settings(deadline=None)
@given(LOGS)
def test_p_is_the_share_of_sign_patterns_at_least_as_far_out(logs: list[float]) -> None:
    values = np.array(logs)
    sums = [abs(float(values @ np.array(signs))) for signs in itertools.product((-1, 1), repeat=len(logs))]
    tolerance = 1e-9 * max(1e-300, np.abs(values).max()) * len(logs)
    expected = sum(s >= abs(values.sum()) - tolerance for s in sums) / len(sums)
    assert sign_flip_p(values, 1) == pytest.approx(expected)


def test_p_is_scipys() -> None:
    values = np.random.default_rng(4).normal(0.3, 1.0, 11)
    theirs = permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    ).pvalue
    assert sign_flip_p(values, 1) == pytest.approx(theirs)


def test_five_rounds_that_all_agree_give_one_in_sixteen() -> None:
    assert sign_flip_p(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), 1) == 0.0625


def test_one_round_gives_no_p_and_no_difference_gives_one() -> None:
    assert sign_flip_p(np.array([0.1]), 1) is None
    assert sign_flip_p(np.zeros(5), 1) == 1.0


def test_halves_count_what_random_flips_estimate() -> None:
    values = np.random.default_rng(6).normal(0.25, 1.0, 26)
    signs = np.random.default_rng(7).choice((-1.0, 1.0), (200_000, 26))
    estimated = float((np.abs(signs @ values) >= abs(values.sum())).mean())
    assert sign_flip_p(values, 1) == pytest.approx(estimated, abs=0.004)


def test_beyond_exact_counting_the_seed_decides() -> None:
    values = np.random.default_rng(8).normal(0.3, 1.0, EXACT_UP_TO + 1)
    assert sign_flip_p(values, 1) == sign_flip_p(values, 1)
    assert sign_flip_p(values, 1) == pytest.approx(sign_flip_p(values[:-1], 1), abs=0.2)
