"""A choice holds at every load: guards, failures and what is not known count wherever they occur, whatever is told."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from analysis.conftest import FACTOR, make_campaign, make_run, stated
from fathom.analysis.analyse import analyse
from fathom.analysis.model import Analysis, Verdict
from fathom.finding import Finding
from fathom.results import Run

USERS = "workload.users"
Cells = dict[str, dict[int, tuple[float, float] | None]]


def runs_of(cells: Cells, scatter: dict[int, float], rounds: int = 5) -> list[Run]:
    """Rate and p99 of each variant at each load, with a scatter of half a per cent unless told otherwise."""
    rng = np.random.default_rng(1)
    found = []
    for one, by_load in cells.items():
        for load, means in by_load.items():
            for number in range(1, rounds + 1):
                off = float(np.exp(scatter.get(load, 0.005) * rng.standard_normal()))
                metrics = None if means is None else {"iops": means[0] * off, "latency_p99_ms": means[1] * off**0.5}
                found.append(make_run({FACTOR: one, USERS: load}, number, metrics))
    return found


def judged(cells: Cells, *, scatter: dict[int, float] | None = None, **study: object) -> Analysis:
    """What becomes of variants at loads; the first is the baseline."""
    runs = runs_of(cells, scatter or {})
    factors = {FACTOR: list(cells), USERS: list(next(iter(cells.values())))}
    base = make_campaign(
        {next(iter(cells)): []}, study={"factors": factors, "loads": {USERS: "users"}, **study}, compare={"rounds": 5}
    )
    return analyse(dataclasses.replace(base, runs=tuple(runs), planned=len(runs)))


def first(found: Analysis) -> Finding:
    made = ("choice", "trade-off", "by-load", "alike")
    return next(finding for finding in found.findings if finding.rule in made)


OLD: dict[int, tuple[float, float] | None] = {1: (1000.0, 5.0), 16: (5000.0, 5.0)}


@pytest.mark.parametrize("goals", [[], [{"metric": "latency_p99_ms", "comparison": "<", "limit": 60.0, "text": "60"}]])
def test_a_guard_that_is_worse_where_the_metric_is_equal_stops_the_choice(goals: list[object]) -> None:
    found = judged({"old": OLD, "new": {1: (1300.0, 5.0), 16: (5000.0, 50.0)}}, goals=goals)
    assert [c.verdict for c in found.comparisons] == [Verdict.FASTER, Verdict.EQUIVALENT]
    assert "p99 latency is 10.0 × worse" in found.headline
    assert "at 16 users" in found.headline
    assert (first(found).rule, first(found).severity) == ("trade-off", "warning")


def test_a_guard_that_is_worse_where_nothing_is_decided_stops_the_choice() -> None:
    found = judged({"old": OLD, "new": {1: (1300.0, 5.0), 16: (5000.0, 50.0)}}, scatter={16: 0.06})
    assert found.comparisons[1].verdict is Verdict.UNDECIDED
    assert first(found).severity == "warning"
    assert any("p99 latency" in one.sentence for one in first(found).evidence)


def test_a_load_at_which_every_run_failed_is_not_answered_from_another() -> None:
    found = judged({"old": OLD, "new": {1: (1300.0, 5.0), 16: None}})
    assert "at 16 users it is not comparable (new: 5 of 5 runs failed" in found.headline
    assert first(found).severity == "warning"
    action = "Choose new at 1 user only: at 16 users it is not known whether it is worse."
    assert first(found).remedies[0].action == action
    assert found.decision.taken is None


def test_a_load_at_which_a_large_loss_is_possible_is_not_answered_from_another() -> None:
    found = judged({"old": OLD, "new": {1: (1040.0, 5.0), 16: (4500.0, 5.0)}}, scatter={16: 0.6})
    assert found.comparisons[1].verdict is Verdict.UNDECIDED
    assert first(found).remedies[0].action.startswith("Choose new at 1 user only")
    assert "at 16 users it is undecided" in found.headline


def test_an_undecided_load_that_rules_out_a_loss_is_no_obstacle() -> None:
    found = judged({"old": OLD, "new": {1: (1300.0, 5.0), 16: (5150.0, 5.0)}}, scatter={16: 0.03})
    assert found.comparisons[1].verdict is Verdict.UNDECIDED
    assert first(found).remedies[0].action == "Choose new."


def test_staying_is_no_answer_for_a_load_that_is_not_known_either() -> None:
    found = judged({"old": OLD, "new": {1: (900.0, 5.0), 16: None}})
    action = "Stay with old at 1 user only: at 16 users it is not known whether it is worse."
    assert first(found).remedies[0].action == action


def test_of_variants_that_are_alike_each_guard_is_told() -> None:
    found = judged({"a": {1: (1000.0, 5.0)}, "b": {1: (1001.0, 5.0)}, "c": {1: (1002.0, 50.0)}})
    assert found.headline.startswith("Both variants are equivalent to a within 2 %")
    assert "c: p99 latency is 10.0 × worse" in found.headline
    assert first(found).severity == "warning"
    assert first(found).remedies[0].action.startswith("Leave out c")


def test_of_loads_that_are_alike_each_guard_is_told() -> None:
    found = judged({"a": OLD, "b": {1: (1001.0, 5.0), 16: (5001.0, 50.0)}})
    assert found.headline.startswith("b and a are equivalent within 2 % at both loads, but b")
    assert first(found).remedies[0].action == "Prefer a: b is no faster and has a price."
    assert first(found).severity == "warning"


def test_what_the_baseline_does_worse_is_told_of_it() -> None:
    found = judged({"a": {1: (1000.0, 50.0)}, "b": {1: (970.0, 5.0)}})
    assert first(found).severity == "warning"
    assert first(found).evidence[0].sentence.startswith("p99 latency is 10.0 × lower")
    assert first(found).remedies[0].action == "Weigh the gain of a against its price."


def test_equal_speed_with_a_better_tail_is_preferred() -> None:
    found = judged({"a": {1: (1000.0, 50.0)}, "b": {1: (1001.0, 5.0)}})
    assert first(found).remedies[0].action == "Prefer b: as fast as a, and better in what is told above."


def test_a_variant_without_a_price_goes_before_one_that_gains_a_little_more() -> None:
    found = judged({"a": {1: (1000.0, 5.0)}, "b": {1: (1300.0, 50.0)}, "c": {1: (1285.0, 5.0)}})
    assert found.headline.startswith("c is 28 % faster than a")
    assert "b is 30 % faster than a" in found.headline
    assert first(found).remedies[0].action == "Choose c."
    assert any(one.sentence.startswith("b gains more, but p99 latency is 10.0 ×") for one in first(found).evidence)


def test_the_best_is_that_of_all_loads_and_not_of_those_that_are_decided() -> None:
    loads = {"old": {1: 1000.0, 4: 2000.0, 16: 5000.0}, "peak": {1: 2050.0, 4: 2000.0, 16: 5000.0}}
    loads["steady"] = {load: 1.9 * rate for load, rate in loads["old"].items()}
    found = judged({one: {load: (rate, 5.0) for load, rate in rates.items()} for one, rates in loads.items()})
    assert first(found).remedies[0].action == "Choose steady."


def test_variants_that_are_not_told_apart_are_named_with_the_best() -> None:
    """B and c are the same: the larger of two points is no better."""
    cells: Cells = {"a": {1: (1000.0, 5.0)}, "b": {1: (1100.0, 5.0)}, "c": {1: (1101.0, 5.0)}, "d": {1: (1050.0, 5.0)}}
    found = judged(cells, scatter={1: 0.012})
    assert [variant[FACTOR] for variant in found.decision.rivals] in (["b"], ["c"])
    assert "not told apart from it" in found.headline
    assert first(found).remedies[0].action.endswith("by price: which of them is the fastest is not known.")


def test_a_load_without_a_single_run_is_not_answered_from_another() -> None:
    """Its runs were lost, or are still to come: the choice leaves it out as it does one where all of them failed."""
    cells: Cells = {"old": {1: (1000.0, 5.0), 8: (3000.0, 5.0)}, "new": {1: (1300.0, 5.0), 8: (3900.0, 5.0)}}
    levels = [{FACTOR: one, USERS: load} for one in cells for load in (1, 8, 16)]
    found = judged(cells, variants=[stated(one) for one in levels])
    assert [c.variant[USERS] for c in found.comparisons] == [1, 8, 16]
    assert "at 16 users it is not comparable (no round holds a finished run of both new and old" in found.headline
    action = "Choose new at 1 user and 8 users only: at 16 users it is not known whether it is worse."
    assert first(found).remedies[0].action == action


def test_a_load_is_one_before_a_second_level_has_run() -> None:
    cells: Cells = {"old": {1: (1000.0, 5.0)}, "new": {1: (1300.0, 5.0)}}
    found = judged(cells, variants=[stated({FACTOR: one, USERS: load}) for one in cells for load in (1, 16)])
    assert found.loads == (USERS,)
    assert first(found).remedies[0].action.startswith("Choose new at 1 user only")
