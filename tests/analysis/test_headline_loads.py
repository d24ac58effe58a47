"""Headlines of tables of loads: levels are named as the study names them, and load that brings less is called that."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from analysis.conftest import stated
from fathom.analysis.headline import _saturation
from fathom.analysis.load import LoadTable
from fathom.analysis.variants import label

STUDY = {"labels": {"workload.count": {"1": "one database", "4": "four databases"}}}


def table(rates: list[float]) -> LoadTable:
    """Three loads of one run each."""
    nothing = np.full(3, np.nan)
    return LoadTable("workload.count", {}, "nopm", np.array([1.0, 2.0, 4.0]), np.array(rates), nothing)


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ([100.0, 180.0, 300.0], "no saturation up to four databases"),
        ([300.0, 250.0, 200.0], "more load brings less: 300 orders/min with one database, 200 orders/min with four"),
        ([100.0, 310.0, 300.0], "most 310 orders/min with 2 databases"),
    ],
)
def test_loads_are_told_by_their_labels(rates: list[float], words: str) -> None:
    assert words in _saturation(table(rates), None, STUDY)


def test_whoever_thinks_between_requests_is_a_user() -> None:
    """With 66 users of whom each thinks for 10 ms, 7 requests are outstanding."""
    load = "workload.outstanding"
    for pauses, one, several in ((True, "1 user", "66 users"), (False, "1 outstanding", "66 outstanding")):
        study = {"variants": [stated({load: 66}, demand={"users": 66, "pauses": pauses})]}
        assert (label({load: 1}, study), label({load: 66}, study)) == (one, several)
        sweep = dataclasses.replace(table([100.0, 180.0, 300.0]), factor=load)
        assert f"up to 4 {several.split()[1]}" in _saturation(sweep, None, study)
