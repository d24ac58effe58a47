"""Sequences of virtual users: every step is told, the first is discarded, equal levels averaged, levels an axis."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fathom.analysis.analyse import analyse
from fathom.analysis.sequence import at_users, improvement, steps
from fathom.report.build import build
from fathom.results import Campaign, Run

Driven = Callable[..., Run]


@pytest.fixture
def driven(run: Callable[..., Run], factor: str) -> Driven:
    """A run whose sequence yielded these values, as (users, NOPM)."""

    def make(level: str, number: int, *values: tuple[int, int]) -> Run:
        made = run({factor: level}, number, {"nopm": float(max(value for _, value in values))})
        made.facts["sequence.0"] = f"{values[0][0]} virtual users: 7 NOPM, 95 % within 99.000 ms, discarded"
        for place, (users, value) in enumerate(values, 1):
            made.facts[f"sequence.{place}"] = f"{users} virtual users: {value} NOPM, 95 % within 12.500 ms"
        return made

    return make


def test_steps_are_read_off_in_order(driven: Driven) -> None:
    found = steps(driven("none", 1, (34, 100), (34, 110), (55, 150)))
    assert [(step.number, step.users, step.value, step.discarded) for step in found] == [
        (0, 34, 7.0, True),
        (1, 34, 100.0, False),
        (2, 34, 110.0, False),
        (3, 55, 150.0, False),
    ]
    assert (found[1].title, found[1].p95_ms) == ("NOPM", 12.5)


def test_facts_that_are_no_steps_make_none(run: Callable[..., Run], factor: str) -> None:
    made = run({factor: "a"}, 1, {"nopm": 1.0})
    made.facts.update(
        {"sequence": "34 virtual users: 1 NOPM", "sequence.1": "something else", "other.1": "2 virtual users: 3 X"}
    )
    assert steps(made) == ()


def test_equal_levels_of_a_round_are_averaged_and_the_discarded_one_is_left_out(driven: Driven) -> None:
    runs = [driven("none", 1, (34, 100), (34, 110), (55, 150)), driven("none", 2, (34, 96), (34, 104), (55, 170))]
    low, high = at_users(runs, seed=1)
    assert (low.users, low.points) == (34, ((1, 105.0), (2, 100.0)))
    assert (high.users, high.points) == (55, ((1, 150.0), (2, 170.0)))
    assert high.estimate is not None
    assert high.estimate.value == 160.0


def test_the_mean_is_of_a_rounds_ratios_over_all_levels(driven: Driven) -> None:
    plain = [driven("none", n, (34, 100), (55, 200)) for n in (1, 2)]
    cached = [driven("cache", 1, (34, 150), (55, 500)), driven("cache", 2, (34, 170))]
    found, mean = improvement(cached, plain, seed=1)
    assert [(at.users, at.points) for at in found] == [
        (34, ((1, pytest.approx(1.5)), (2, pytest.approx(1.7)))),
        (55, ((1, pytest.approx(2.5)),)),
    ]
    assert mean is not None
    assert mean.points == ((1, pytest.approx(2.0)),), "round 2 lacks a level"


def test_without_a_pair_there_is_no_ratio(driven: Driven) -> None:
    assert improvement([driven("cache", 1, (34, 100))], [], seed=1) == ((), None)


def test_the_report_has_every_step_and_the_levels_as_an_axis(driven: Driven, campaign: Callable[..., Campaign]) -> None:
    runs = [
        driven(
            level, number, (34, int(100 * better) + number), (34, int(102 * better)), (55, int(150 * better) + number)
        )
        for level, better in (("none", 1.0), ("cache", 2.0))
        for number in (1, 2, 3)
    ]
    made = campaign({"none": [], "cache": []}, metric="nopm", compare={"rounds": 3}, extra_runs=runs)
    document = build(analyse(made), made)
    tables = {table.name: table for table in document.tables()}
    assert len(tables["sequence"].rows) == 6 * 4
    assert [row[-1].text for row in tables["sequence"].rows[:2]] == ["discarded", "yes"]
    rows = tables["sequence-improvement"].rows
    assert [row[0].text for row in rows] == ["34", "55", "mean (Cpi)"]
    assert float(rows[2][1].value or 0) == pytest.approx(2.0, rel=0.02)
    charts = {chart.name: chart for chart in document.charts()}
    assert "over virtual users" in charts["sequence-values"].alt
    for name in ("sequence-values", "sequence-ratio"):
        charts[name].draw()
