"""Holm's step-down decides as statsmodels does, whatever the p values."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from fathom.analysis.holm import step_down_levels

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def little_garbage() -> Iterator[None]:
    """Statsmodels collects garbage in every call, over all that pytest holds; what is frozen is not looked at."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("little_garbage")
@given(P_VALUES)
def test_rejections_are_statsmodels(p_values: list[float]) -> None:
    levels = step_down_levels(p_values, 0.05, lambda index, level: p_values[index] <= level)
    ours = [p <= level for p, level in zip(p_values, levels, strict=True)]
    theirs = list(multipletests(p_values, alpha=0.05, method="holm")[0])
    assert ours == theirs


@given(P_VALUES)
def test_levels_lie_between_bonferroni_and_the_whole(p_values: list[float]) -> None:
    levels = step_down_levels(p_values, 0.05, lambda index, level: p_values[index] <= level)
    assert all(0.05 / len(p_values) <= level <= 0.05 for level in levels)


def test_one_comparison_keeps_the_whole_level() -> None:
    assert step_down_levels([0.04], 0.05, lambda index, level: True) == [0.05]
