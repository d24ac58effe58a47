"""A trend over rounds is found, and noise is rarely taken for one."""

from __future__ import annotations

import numpy as np

from fathom.analysis.drift import ALPHA, find_drift

ROUNDS = np.arange(1.0, 9.0)


def test_a_steady_loss_is_found_with_its_size() -> None:
    noise = 0.005 * np.random.default_rng(1).standard_normal(8)
    drift = find_drift(ROUNDS, -0.01 * ROUNDS + noise)
    assert drift is not None
    assert -0.085 < drift.change < -0.055


def test_noise_drifts_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(2)
    found = sum(find_drift(ROUNDS, rng.standard_normal(8)) is not None for _ in range(1_000))
    assert found / 1_000 <= ALPHA + 0.008


def test_constant_or_few_values_do_not_drift() -> None:
    assert find_drift(ROUNDS, np.zeros(8)) is None
    assert find_drift(ROUNDS[:4], np.arange(4.0)) is None
