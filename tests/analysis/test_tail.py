"""A percentile needs requests beyond it: goals that too few of them kept are not met, and not missed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.conftest import FACTOR, make_campaign, make_run
from fathom.analysis.analyse import analyse
from fathom.goals import outcomes
from fathom.results import Campaign, Run
from fathom.tail import Few, few


def _run(level: str, number: int, iops: float, **metrics: float) -> Run:
    return replace(make_run({FACTOR: level}, number, {"iops": iops, **metrics}), measured_s=10.0)


@pytest.mark.parametrize(
    ("name", "needed"),
    [("latency_p50_ms", 20), ("latency_p95_ms", 200), ("latency_p99_ms", 1000), ("latency_p999_ms", 10_000)],
)
def test_ten_requests_lie_beyond_a_percentile(name: str, needed: int) -> None:
    assert few(name, [_run("a", 1, (needed - 1) / 10)]) == Few(needed - 1, needed)
    assert few(name, [_run("a", 1, needed / 10)]) is None


def test_runs_count_together_and_each_kind_by_itself() -> None:
    runs = [_run("a", number, 50.0, read_iops=40.0, write_iops=10.0) for number in (1, 2)]
    assert few("latency_p99_ms", runs) is None
    assert few("read_latency_p99_ms", runs) == Few(800, 1000)
    assert few("new_order_latency_p99_ms", runs[:1]) == Few(500, 1000), "no more than all requests"
    assert few("iops", runs) is None
    assert few("latency_p99_ms", [make_run({FACTOR: "a"}, 1, {"iops": 1.0})]) is None, "how long is not known"


def _campaign(*p999: float, levels: tuple[str, ...] = ("a",)) -> Campaign:
    goal = {"metric": "latency_p999_ms", "comparison": "<", "limit": 5.0, "text": "< 5ms"}
    runs = [_run(level, 1, 46.2, latency_p999_ms=value) for level, value in zip(levels, p999, strict=True)]
    campaign = make_campaign({level: [46.2] for level in levels}, study={"goals": [goal]})
    return replace(campaign, runs=tuple(runs))


def test_a_goal_that_too_few_requests_kept_is_not_met() -> None:
    (found,) = outcomes(_campaign(3.11), ())
    assert (found.passed, found.met, found.few) == (False, 1, Few(462, 10_000))
    answer = analyse(_campaign(3.11)).decision.goals
    assert answer is not None
    assert answer.only_untold
    assert answer.sentence == (
        "The goal cannot be judged: p99.9 latency rests on 462 requests, and it takes 10,000 (goal: < 5ms)."
    )


def test_a_goal_that_a_few_requests_break_is_missed() -> None:
    (found,) = outcomes(_campaign(7.0), ())
    assert (found.passed, found.few) == (False, None)


def test_a_compared_percentile_of_few_requests_is_warned_of() -> None:
    campaign = make_campaign({"a": [3.0], "b": [3.1]}, metric="latency_p999_ms")
    runs = tuple(replace(run, metrics={**run.metrics, "iops": 46.2}, measured_s=10.0) for run in campaign.runs)
    assert any("rests on 462 requests" in said for said in analyse(replace(campaign, runs=runs)).warnings)


def test_faster_storage_is_no_advice_where_goals_cannot_be_judged() -> None:
    found = analyse(_campaign(3.0, 3.1, levels=("a", "b")))
    assert found.decision.taken is None
    (card,) = [one for one in found.findings if one.rule == "goals"]
    assert card.remedies[0].action.startswith("Measure longer")
