"""Headlines of tables of loads: levels are named as the study names them, and load that brings less is called that."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from analysis.conftest import stated
from fathom.analysis.load import LoadTable
from fathom.analysis.sweep_words import _saturation
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


@pytest.mark.parametrize("seed", range(12))
def test_a_flat_table_that_scatters_is_saturated(seed: int) -> None:
    """5,000 IOPS at every load and 10 % of scatter: the last of two medians is often above the one before."""
    loads = np.repeat([1.0, 2, 4, 8, 16, 32, 64], 3)
    rates = 5000 * np.exp(0.1 * np.random.default_rng(seed).standard_normal(len(loads)))
    flat = LoadTable("workload.outstanding", {}, "iops", loads, rates, 1e3 * loads / rates)
    said = _saturation(flat, None, {})
    assert said.startswith("it is already saturated at the lowest load tried (1 outstanding): "), said
    assert "try fewer" not in said


def test_growth_that_is_mostly_waiting_is_called_neither_growth_nor_saturated() -> None:
    """At 64 the rate has 12 % more than at 32, of a load twice as high: the rest of it is latency."""
    loads = np.array([1.0, 2, 4, 8, 16, 32, 64])
    rates = 1000 * loads / (1 + 0.1 * (loads - 1))
    said = _saturation(LoadTable("workload.outstanding", {}, "iops", loads, rates, 1e3 * loads / rates), None, {})
    assert said == (
        "it levels off without a clear saturation point: 1,000 IOPS at 1.00 ms with 1 outstanding, "
        "8,767 IOPS at 7.30 ms with 64 outstanding"
    )


def test_near_loads_at_the_end_do_not_hide_growth() -> None:
    """Between 60 and 64 the scatter of two runs is more than the growth."""
    loads = np.array([1.0, 8, 32, 60, 64])
    rates = np.array([1000.0, 8000, 31_500, 58_500, 57_900])
    said = _saturation(LoadTable("workload.outstanding", {}, "iops", loads, rates, 1e3 * loads / rates), None, {})
    assert said.startswith("no saturation up to 64 outstanding")


def test_less_with_more_load_is_said_where_it_is_more_than_scatter() -> None:
    loads = np.repeat([8.0, 16, 32], 4)
    noise = np.tile([0.9, 1.12, 0.95, 1.05], 3)
    for fall, words in (
        (0.03, "already saturated at the lowest load tried (8 outstanding)"),
        (0.4, "more load brings less"),
    ):
        rates = 5000 * noise * (loads / 8) ** -fall
        scattered = LoadTable("workload.outstanding", {}, "iops", loads, rates, 1e3 * loads / rates)
        assert words in _saturation(scattered, None, {})


def test_whoever_thinks_between_requests_is_a_user() -> None:
    """With 66 users of whom each thinks for 10 ms, 7 requests are outstanding."""
    load = "workload.outstanding"
    for pauses, one, several in ((True, "1 user", "66 users"), (False, "1 outstanding", "66 outstanding")):
        study = {"variants": [stated({load: 66}, demand={"users": 66, "pauses": pauses})]}
        assert (label({load: 1}, study), label({load: 66}, study)) == (one, several)
        sweep = dataclasses.replace(table([100.0, 180.0, 300.0]), factor=load)
        assert f"up to 4 {several.split()[1]}" in _saturation(sweep, None, study)
