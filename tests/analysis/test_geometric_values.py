"""Absolute values beside a ratio, where rounds scatter."""

from __future__ import annotations

import pytest

from analysis.conftest import make_campaign
from fathom.analysis.analyse import analyse


def test_the_values_beside_a_ratio_have_it_as_their_quotient() -> None:
    values = {"a": [50.0, 100.0, 200.0, 70.0], "b": [300.0, 60.0, 90.0, 40.0]}
    (found,) = analyse(make_campaign(values, metric="latency_ms")).comparisons
    assert found.values is not None
    assert found.ratio is not None
    mine, other = found.values
    assert other / mine == pytest.approx(found.ratio.value)
