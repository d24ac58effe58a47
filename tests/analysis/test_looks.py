"""Looks are planned, declared or inferred, and their level is Pocock's where his assumptions hold."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.conftest import FACTOR, make_campaign
from fathom.analysis.analyse import analyse
from fathom.analysis.interval import t_interval
from fathom.analysis.looks import false_alarms, nominal_alpha, schedule, taken

PLAIN = {"planned": 5, "max_rounds": None, "looks": None, "seen": (), "done": 5}


@pytest.mark.parametrize(
    ("change", "looks"),
    [
        ({}, (5,)),
        ({"done": 3}, (3, 5)),
        ({"done": 3, "seen": (3,)}, (3, 5)),
        ({"seen": (5,)}, (5,)),
        ({"max_rounds": 20}, (5, 8, 12, 20)),
        ({"max_rounds": 10}, (5, 8, 10)),
        ({"looks": [5, 8, 12, 20]}, (5, 8, 12, 20)),
        ({"done": 9}, (9,)),
        ({"seen": (5,), "done": 9}, (5, 9)),
        ({"seen": (2, 5, 8), "done": 8}, (2, 5, 8)),
        ({"looks": [5, 8], "seen": (5, 8), "done": 30}, (5, 8, 30)),
        ({"planned": 1, "done": 1}, (2,)),
        ({"seen": (1,)}, (5,)),
    ],
)
def test_schedule_holds_every_look_that_was_or_may_be_taken(change: dict[str, Any], looks: tuple[int]) -> None:
    assert schedule(**{**PLAIN, **change}) == looks


@given(st.integers(2, 40), st.none() | st.integers(2, 60), st.lists(st.integers(0, 60)), st.integers(0, 60))
def test_schedule_ascends_and_reaches_what_was_done(
    planned: int, max_rounds: int | None, seen: list[int], done: int
) -> None:
    looks = schedule(planned=planned, max_rounds=max_rounds, looks=None, seen=seen, done=done)
    assert list(looks) == sorted(set(looks))
    assert looks[-1] == max(planned, done, max_rounds or 0)
    assert set(looks) >= {n for n in seen if 2 <= n <= done}


def test_one_look_costs_nothing() -> None:
    assert nominal_alpha((5,), 0.05) == 0.05


@pytest.mark.parametrize(("looks", "published"), [(2, 0.0294), (4, 0.0182), (5, 0.0158)])
def test_many_observations_at_equal_distances_give_pococks_levels(looks: int, published: float) -> None:
    """Pocock 1977, table 1; Jennison and Turnbull 2000, table 2.1. The allowances make ours up to 8 % stricter."""
    found = nominal_alpha(tuple(1000 * (i + 1) for i in range(looks)), 0.05)
    assert 0.92 * published <= found <= published


@pytest.mark.parametrize(
    ("looks", "reached"), [((5, 8), 0.066), ((5, 8, 12), 0.077), ((3, 5), 0.05), ((3, 5, 8), 0.061)]
)
def test_looks_beyond_the_plan_come_on_top_of_what_the_planned_one_spent(
    looks: tuple[int, ...], reached: float
) -> None:
    judged = taken(**{**PLAIN, "seen": looks[:-1], "done": looks[-1]})
    told = false_alarms(judged, 0.05)
    assert told == pytest.approx(reached, abs=0.003)
    values = np.random.default_rng(3).standard_normal((20_000, looks[-1]))
    alarm = np.zeros(len(values), dtype=np.bool_)
    for now, schedule_then in judged.items():
        found = t_interval(values[:, :now], 1 - nominal_alpha(schedule_then, 0.05))
        alarm |= (found.low > 0) | (found.high < 0)
    assert told == pytest.approx(alarm.mean(), abs=0.006)


def test_looks_that_were_declared_keep_to_the_promise() -> None:
    judged = taken(**{**PLAIN, "max_rounds": 20, "seen": (5, 8, 12), "done": 20})
    assert list(judged) == [5, 8, 12, 20]
    assert false_alarms(judged, 0.05) <= 0.05


def test_more_looks_cost_more() -> None:
    levels = [nominal_alpha(looks, 0.05) for looks in ((5, 8), (5, 8, 12), (5, 8, 12, 20))]
    assert 0.05 > levels[0] > levels[1] > levels[2] > 0.05 / 4


@pytest.mark.parametrize(("gone", "looks"), [((8,), (7, 8)), ((7, 8), (6, 8)), ((3, 4, 5), (5, 8)), ((), (8,))])
def test_a_round_that_has_only_begun_is_no_look_at_the_planned_end(
    gone: tuple[int, ...], looks: tuple[int, ...]
) -> None:
    """Ctrl-C in the last round, or a gap before it: the verdict is one before the end, and has to pay for itself."""
    series = np.random.default_rng(5).normal(1000, 20, (2, 8))
    whole = make_campaign({"old": list(series[0]), "new": list(series[1] * 1.2)})
    left = tuple(run for run in whole.runs if run.variant[FACTOR] == "old" or run.round not in gone)
    found = analyse(dataclasses.replace(whole, runs=left))
    ratio = found.comparisons[0].ratio
    assert ratio is not None
    assert ratio.n == 8 - len(gone)
    assert ratio.level == pytest.approx(1 - nominal_alpha(looks, 0.05))
    said = [text for text in found.warnings if text.startswith("Intervals are corrected for looks after")]
    assert (f"after {', '.join(map(str, looks))} rounds" in said[0]) if gone else not said
