"""The verdicts are a partition: every interval gets one, and the words mean what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.analysis.model import Verdict
from fathom.analysis.verdict import classify, log_margin

OPPOSITE = {
    Verdict.FASTER: Verdict.SLOWER,
    Verdict.SLOWER: Verdict.FASTER,
    Verdict.FASTER_SMALL: Verdict.SLOWER_SMALL,
    Verdict.SLOWER_SMALL: Verdict.FASTER_SMALL,
}


def verdict(point: float, half: float, equal_half: float, margin: float = 0.02) -> Verdict:
    numbers = {"point": point, "low": point - half, "high": point + half}
    numbers |= {"equal_low": point - equal_half, "equal_high": point + equal_half}
    return Verdict(str(classify(**{k: np.array(v) for k, v in numbers.items()}, margin=margin)))


@pytest.mark.parametrize(
    ("point", "half", "equal_half", "expected"),
    [
        (0.05, 0.04, 0.03, Verdict.FASTER),
        (-0.05, 0.04, 0.03, Verdict.SLOWER),
        (0.015, 0.014, 0.012, Verdict.FASTER_SMALL),
        (0.015, 0.002, 0.001, Verdict.FASTER_SMALL),
        (-0.01, 0.005, 0.004, Verdict.SLOWER_SMALL),
        (0.002, 0.012, 0.010, Verdict.EQUIVALENT),
        (0.0, 0.0, 0.0, Verdict.EQUIVALENT),
        (0.01, 0.02, 0.015, Verdict.UNDECIDED),
        (0.05, 0.06, 0.05, Verdict.UNDECIDED),
    ],
)
def test_verdict_follows_interval_and_margin(point: float, half: float, equal_half: float, expected: Verdict) -> None:
    assert verdict(point, half, equal_half) is expected


WIDTHS = st.floats(0, 1)


@given(st.floats(-1, 1), WIDTHS, st.floats(0, 1), st.floats(0.001, 0.5))
def test_swapping_the_variants_turns_the_verdict_round(point: float, half: float, part: float, margin: float) -> None:
    forth = verdict(point, half, half * part, margin)
    back = verdict(-point, half, half * part, margin)
    assert back is OPPOSITE.get(forth, forth)


@given(st.floats(-1, 1), WIDTHS, st.floats(0, 1), st.floats(0.001, 0.5))
def test_no_verdict_contradicts_its_interval(point: float, half: float, part: float, margin: float) -> None:
    found = verdict(point, half, half * part, margin)
    if found in (Verdict.FASTER, Verdict.FASTER_SMALL):
        assert point - half > 0
    if found in (Verdict.FASTER, Verdict.SLOWER):
        assert abs(point) >= log_margin(margin)
    if found is Verdict.EQUIVALENT:
        assert abs(point) + half * part < log_margin(margin)
        assert point - half <= 0 <= point + half
