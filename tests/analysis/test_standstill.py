"""A volume that stood still: what is said first, what more rounds cannot change, and what a load is worth then."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest

from analysis.conftest import FACTOR, make_campaign, make_run, stated
from fathom.analysis.analyse import analyse
from fathom.analysis.capacity import limit_of
from fathom.analysis.goals import goal_answer, miss_words
from fathom.analysis.model import Analysis, Verdict
from fathom.goals import outcomes_of
from fathom.report.verdicts import words
from fathom.results import Run


def stood(still_s: tuple[float, ...], iops: tuple[float, ...] = (1000.0, 1035.0, 990.0), **more: float) -> Analysis:
    """A baseline of 1,000 IOPS, and a volume that stood still for so long in each round."""
    runs = [
        make_run({FACTOR: "plain"}, number, {"iops": 1000.0, "latency_p99_ms": 10.0, "standstill_ms": 2.0})
        for number in range(1, len(still_s) + 1)
    ]
    runs += [
        make_run(
            {FACTOR: "cache"}, number, {"iops": rate, "latency_p99_ms": 11.0, "standstill_ms": still * 1e3, **more}
        )
        for number, (rate, still) in enumerate(zip(iops, still_s, strict=False), 1)
    ]
    return analyse(make_campaign({"plain": [], "cache": []}, compare={"rounds": 3}, extra_runs=runs))


def test_more_rounds_are_no_advice_where_a_standstill_was_plain() -> None:
    found = stood((50.0, 54.0, 52.0))
    (comparison,) = found.comparisons
    assert (comparison.verdict, comparison.more_rounds) == (Verdict.UNDECIDED, None)
    assert "undecided: 1,008 against 1,000 IOPS" in found.headline
    assert "but longest standstill: 52.0 s against 2.00 ms" in found.headline
    assert "rounds more" not in found.headline
    assert words(comparison) == "undecided, but longest standstill 52.0 s"
    (standstill,) = (finding for finding in found.findings if finding.rule == "standstill")
    assert "more rounds do not change that" in standstill.what
    assert not any("more" in remedy.action for finding in found.findings for remedy in finding.remedies)


@pytest.mark.parametrize("still_s", [(0.4, 0.5, 0.6), (40.0, 0.0, 0.0)])
def test_more_rounds_are_advice_where_the_interval_keeps_the_verdict_open(still_s: tuple[float, ...]) -> None:
    found = stood(still_s)
    (comparison,) = found.comparisons
    assert comparison.stood_still is None, "short, or in one round of three only"
    assert comparison.more_rounds
    assert "rounds more needed" in found.headline


def test_the_guard_that_is_named_first_is_the_worst() -> None:
    found = stood((50.0, 54.0, 52.0), write_latency_p99_ms=900.0, latency_p99_ms=15.0, iops=(1500.0, 1510.0, 1490.0))
    assert found.comparisons[0].verdict is Verdict.FASTER
    assert [guard.metric for guard in found.comparisons[0].worsened] == ["standstill_ms", "latency_p99_ms"]
    assert "but longest standstill: 52.0 s against 2.00 ms and 1 more guard worse" in found.headline


def test_of_latencies_the_one_that_grew_most_is_named_first() -> None:
    worse = [
        make_run({FACTOR: name}, number, {"iops": rate + number, "latency_p99_ms": p99, "read_latency_p99_ms": read})
        for name, rate, p99, read in (("plain", 1000.0, 10.0, 1.0), ("cache", 1500.0, 12.0, 9.0))
        for number in (1, 2, 3)
    ]
    found = analyse(make_campaign({"plain": [], "cache": []}, compare={"rounds": 3}, extra_runs=worse))
    assert "but read p99 latency is 9.0 × worse (9.00 against 1.00 ms) and 1 more guard" in found.headline


def test_of_loads_the_one_with_the_worst_guard_tells_the_price() -> None:
    study = {"loads": {"workload.rate": "rate"}}
    runs = [
        make_run(
            {FACTOR: name, "workload.rate": load},
            number,
            {"iops": rate + number, "latency_p99_ms": p99, "standstill_ms": still},
        )
        for name, load, rate, p99, still in (
            ("plain", 1000, 900.0, 10.0, 2.0),
            ("plain", 2000, 1500.0, 10.0, 2.0),
            ("cache", 1000, 1000.0, 12.0, 2.0),
            ("cache", 2000, 2000.0, 12.0, 14_000.0),
        )
        for number in (1, 2, 3)
    ]
    found = analyse(make_campaign({"plain": [], "cache": []}, compare={"rounds": 3}, study=study, extra_runs=runs))
    assert "longest standstill: 14.0 s against 2.00 ms and 1 more guard worse at 2,000/s" in found.headline


def offered(
    still_s: Mapping[int, float], *, done: Mapping[str, Mapping[int, float]], metrics: Mapping[str, float]
) -> list[Run]:
    """Open loops of two volumes, of which the cache stood still at some rates; runs of 10,000 s."""
    return [
        make_run(
            {FACTOR: name, "workload.rate": rate},
            1,
            {
                "iops": does,
                "arrivals_per_second": float(rate),
                "elapsed_s": 10_000.0,
                "refused": 1e4 * (rate - does),
                "standstill_ms": 1e3 * still_s.get(rate, 0.0) if name == "cache" else 2.0,
                **metrics,
            },
        )
        for name, rates in done.items()
        for rate, does in rates.items()
    ]


LOADS = {
    "loads": {"workload.rate": "rate"},
    "variants": [
        stated({FACTOR: one, "workload.rate": rate}, demand={"rate": rate})
        for one in ("plain", "cache")
        for rate in (1000, 2000)
    ],
}


def test_a_load_at_which_the_volume_stood_still_is_not_called_sustained() -> None:
    done = {"plain": {1000: 1000.0, 2000: 1187.0}, "cache": {1000: 1000.0, 2000: 2000.0}}
    runs = offered({2000: 14.0}, done=done, metrics={"latency_p99_ms": 5.0})
    compare = {"rounds": 1}
    found = analyse(make_campaign({"plain": [], "cache": []}, compare=compare, study=LOADS, extra_runs=runs))
    assert "Cache completes every load, but stands still for up to 14.0 s." in found.headline
    assert "sustains" not in found.headline
    assert limit_of(found, {FACTOR: "cache"}) == 1000.0
    (choice,) = (finding for finding in found.findings if "cache" in finding.subject and finding.rule == "trade-off")
    assert choice.remedies[0].action.startswith("Weigh the gain of cache against its price")
    level = offered({}, done=done, metrics={"latency_p99_ms": 5.0})
    found = analyse(make_campaign({"plain": [], "cache": []}, compare=compare, study=LOADS, extra_runs=level))
    assert "Cache sustains every load." in found.headline


def p99(limit_ms: float) -> dict[str, object]:
    return {"metric": "latency_p99_ms", "comparison": "<", "limit": limit_ms, "text": f"< {limit_ms:g}ms"}


STANDING = {"metric": "standstill_ms", "comparison": "<", "limit": 60_000.0, "text": "< 1min"}


@pytest.mark.parametrize(
    ("goals", "met"),
    [
        ([p99(20.0)], "up to 1,000/s; at 2,000/s nothing was answered for 14.0 s (goal: < 1s)"),
        ([p99(20_000.0)], ""),
        ([p99(20.0), STANDING], ""),
        ([{"metric": "iops", "comparison": ">", "limit": 900.0, "text": "> 900"}], ""),
    ],
)
def test_a_goal_on_a_latency_is_one_on_standstills_too(goals: list[dict[str, object]], met: str) -> None:
    """14 s of 10,000 s are no matter for a p99; requests that may take 20 s stand still no longer than they may."""
    runs = offered({2000: 14.0}, done={"cache": {1000: 1000.0, 2000: 2000.0}}, metrics={"latency_p99_ms": 5.0})
    study = {**LOADS, "goals": goals}
    outcomes = outcomes_of(runs, study)
    answer = goal_answer(outcomes, study, ["workload.rate"])
    assert answer is not None
    assert all(outcome.passed for outcome in outcomes) is not bool(met)
    assert answer.sentence == (f"The goals are met {met}." if met else answer.sentence)
    if met:
        assert "14.0 s" in miss_words(outcomes[-1])


def test_the_age_of_what_may_be_lost_is_the_measured_one_where_that_is_above_the_limit() -> None:
    def lost(**facts: str) -> str:
        words = "the loss of the cache device takes the writes of up to the last 30 s; the volume then stands"
        made = {"volumes.x.may_lose": words, **{f"volumes.x.{name}": value for name, value in facts.items()}}
        runs = [make_run({FACTOR: "plain"}, 1, {"iops": 1000.0})]
        runs += [dataclasses.replace(make_run({FACTOR: "cache"}, 1, {"iops": 900.0}), facts=made)]
        (comparison,) = analyse(make_campaign({"plain": [], "cache": []}, extra_runs=runs)).comparisons
        return comparison.losses[0]

    assert "of up to the last 45 s (measured; the limit is 30 s); the volume" in lost(lag_most_ns="45000000000")
    assert "of up to the last 30 s;" in lost(lag_most_ns="25000000000")
    assert "of up to the last 30 s;" in lost()
