"""A load generator that was late is told, and told from storage that is slow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from analysis.conftest import FACTOR, make_run
from fathom.analysis.analyse import analyse
from fathom.finding import Finding
from fathom.goals import outcomes
from fathom.lateness import Late
from fathom.report import Report
from fathom.results import Campaign, Run

Find = Callable[..., list[Finding]]


@pytest.fixture
def found(run: Callable[..., Run], campaign: Callable[..., Campaign], factor: str) -> Find:
    """What is found about open loops with a mean latency of 4 ms and more metrics."""

    def find(**metrics: float) -> list[Finding]:
        own = {"iops": 500.0, "latency_ms": 4.0, "arrivals_per_second": 500.0, **metrics}
        runs = [run({factor: level}, number, own) for level in ("a", "b") for number in (1, 2, 3)]
        made = campaign({"a": [], "b": []}, compare={"rounds": 3}, extra_runs=runs)
        return [finding for finding in analyse(made).findings if finding.rule == "late"]

    return find


def test_a_late_load_generator_is_told_with_how_late_it_was(found: Find) -> None:
    (finding,) = found(late_ms=3.0)
    assert "late by 3.00 ms in the mean, 75 % of the latency: this machine is too busy" in finding.what
    assert len(finding.evidence) == 1


def test_queueing_for_a_user_is_told_beside_it(found: Find) -> None:
    (finding,) = found(late_ms=3.0, backlog_max=12.0)
    assert "waited for a free user" in finding.evidence[1].sentence


def test_timers_that_are_a_little_late_are_not_told(found: Find) -> None:
    assert found(late_ms=0.05, backlog_max=12.0) == []
    assert found(late_ms=0.05, latency_ms=0.1) == []
    assert found() == []


def test_the_run_that_was_late_by_the_most_is_named_and_the_range(
    run: Callable[..., Run], campaign: Callable[..., Campaign], factor: str
) -> None:
    own = [{"iops": 500.0, "latency_ms": 0.77, "late_ms": 0.747}, {"iops": 500.0, "latency_ms": 4.2, "late_ms": 4.0}]
    runs = [run({factor: level}, number, own[number - 1]) for level in ("a", "b") for number in (1, 2)]
    made = campaign({"a": [], "b": []}, compare={"rounds": 2}, extra_runs=runs)
    (finding,) = (one for one in analyse(made).findings if one.rule == "late")
    assert "late by up to 4.00 ms in the mean, 95 % of the latency" in finding.what
    assert finding.evidence[0].sentence.startswith("Of 4.20 ms mean latency 4.00 ms passed")
    assert "round 2" in finding.evidence[0].sentence
    assert finding.evidence[1].sentence == (
        "In 4 of 4 runs it was late, by 0.747 ms to 4.00 ms: 95 % to 97 % of their latency."
    )


GOAL = {"metric": "latency_p99_ms", "comparison": "<", "limit": 20.0, "text": "< 20ms"}


def _metrics(p99_ms: float, share: float) -> dict[str, float]:
    latency_ms = p99_ms / 10
    return {"iops": 500.0, "latency_ms": latency_ms, "late_ms": share * latency_ms, "latency_p99_ms": p99_ms}


@pytest.fixture
def judged(campaign: Callable[..., Campaign]) -> Callable[..., Campaign]:
    """A campaign with a goal on the p99 latency, and a run per pair of that latency and the share of lateness."""

    def judged(
        *shares: tuple[float, float], goal: dict[str, Any] | None = None, levels: Sequence[str] = ()
    ) -> Campaign:
        runs = [
            make_run({FACTOR: level} if level else {}, number, _metrics(*pair))
            for level in levels or ("",)
            for number, pair in enumerate(shares, 1)
        ]
        made = campaign({level: [] for level in levels or ("a",)}, extra_runs=runs, study={"goals": [goal or GOAL]})
        return made if levels else replace(made, study={**made.study, "compare": None})

    return judged


def test_a_goal_that_lateness_may_have_missed_cannot_be_judged(judged: Callable[..., Campaign]) -> None:
    (outcome,) = outcomes(judged((30.0, 0.97), (10.0, 0.0)), ())
    assert (outcome.passed, outcome.untold, outcome.met) == (False, True, 1)
    assert outcome.late == Late(0.97 * 3.0, 3.0)
    (outcome,) = outcomes(judged((30.0, 0.97), (30.0, 0.3)), ())
    assert not outcome.untold, "a run on time missed it, too"
    (outcome,) = outcomes(judged((10.0, 0.97)), ())
    assert outcome.passed, "it would have been met without the lateness, too"
    (outcome,) = outcomes(judged((30.0, 0.97)), ({},))
    assert not outcome.untold, "the load is not sustained"


def test_of_a_mean_what_remains_without_lateness_is_known(judged: Callable[..., Campaign]) -> None:
    mean = {"metric": "latency_ms", "comparison": "<", "text": "< ..."}
    (outcome,) = outcomes(judged((30.0, 0.6), goal=mean | {"limit": 1.0}), ())
    assert not outcome.untold, "1.2 ms remain"
    (outcome,) = outcomes(judged((30.0, 0.6), goal=mean | {"limit": 1.5}), ())
    assert outcome.untold


def test_the_headline_and_the_box_say_that_latencies_are_those_of_the_machine(judged: Callable[..., Campaign]) -> None:
    made = judged((30.0, 0.97), (10.0, 0.0))
    result = analyse(made)
    assert result.headline.startswith(
        "The goal cannot be judged: p99 latency is 30.0 ms (goal: < 20ms), but the load generator was late by 2.91 ms"
    )
    assert result.headline.count("the load generator was late") == 1
    assert "? goal cannot be judged: the load generator was late" in _box(made)
    kept = judged((10.0, 0.97), (10.0, 0.0))
    assert analyse(kept).headline.endswith(
        "In 1 of 2 runs most of the latency is this machine's, not the storage's: the load generator was late by "
        "0.970 ms."
    )
    assert "✓ goal met" in _box(kept)
    assert "✗ goal missed, but the load generator was late" in _box(judged((30.0, 0.97), (30.0, 0.3)))
    assert "missed, but" not in _box(judged((30.0, 0.3)))


def test_what_to_do_about_lateness_comes_before_faster_storage(judged: Callable[..., Campaign]) -> None:
    made = judged((30.0, 0.97), (30.0, 0.97), levels=("a", "b"))
    findings = analyse(made).findings
    assert [one.rule for one in findings][:2] == ["late", "goals"]
    assert findings[1].remedies[0].action == (
        "Measure again where the load generator is not late, before choosing any of these."
    )
    assert "? goals cannot be judged: the load generator was late" in _box(made)
    slow = judged((30.0, 0.0), (30.0, 0.0), levels=("a", "b"))
    assert analyse(slow).findings[0].remedies[0].action.startswith("Try faster storage")


def _box(campaign: Campaign) -> str:
    return " ".join(Report(analyse(campaign), campaign).markdown().split())
