"""Our own t distribution is scipy's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from fathom.analysis import student


@settings(deadline=None, max_examples=300)
@given(st.floats(-60, 60), st.integers(1, 2000))
def test_the_tail_is_that_of_scipy(value: float, freedom: int) -> None:
    assert student.tail(value, freedom) == pytest.approx(float(t.sf(value, freedom)), rel=1e-10, abs=1e-300)


@settings(deadline=None, max_examples=300)
@given(st.floats(1e-9, 1 - 1e-9), st.integers(1, 2000))
def test_the_quantile_is_that_of_scipy(upper: float, freedom: int) -> None:
    assert student.quantile(upper, freedom) == pytest.approx(float(t.isf(upper, freedom)), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize(("freedom", "value"), [(1, 12.706), (2, 4.303), (4, 2.776), (10, 2.228), (120, 1.980)])
def test_the_quantile_is_that_of_the_printed_tables(freedom: int, value: float) -> None:
    assert student.quantile(0.025, freedom) == pytest.approx(value, abs=5e-4)


def test_the_middle_is_nought() -> None:
    assert student.quantile(0.5, 3) == 0
    assert student.tail(0, 3) == 0.5
    assert student.tail(float("inf"), 3) == 0
