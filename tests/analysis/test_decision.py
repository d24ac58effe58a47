"""One decision: headline and advice name the same variant, and goals come before what is fastest."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from analysis.conftest import FACTOR, make_campaign, make_run, stated
from fathom.analysis.analyse import analyse
from fathom.analysis.goals import miss_words
from fathom.analysis.levels import amount
from fathom.analysis.model import Analysis, Verdict
from fathom.goals import outcomes_of
from fathom.report.verdicts import words
from fathom.results import Campaign, Run
from fathom.unanswered import LeftOut

RATE = "workload.rate"
SIZE = "volumes.cached.size"


def advice(found: Analysis) -> str:
    """The first step of the finding that the decision makes."""
    made = ("choice", "trade-off", "goals", "by-load", "alike")
    return next(f.remedies[0].action for f in found.findings if f.rule in made)


def noisy(value: float) -> list[float]:
    """Five rounds that scatter by half a per cent, otherwise for each value."""
    offs = np.random.default_rng(int(value)).normal(size=5)
    return [float(value * (1 + 0.005 * (off - offs.mean()))) for off in offs]


def test_a_gain_is_told_even_where_a_loss_is_larger() -> None:
    found = analyse(make_campaign({"a": noisy(1000), "slow": noisy(100), "fast": noisy(1200)}))
    assert found.headline.startswith("Fast is 20 % faster than a")
    assert "the best of 2 comparisons" in found.headline
    assert advice(found) == "Choose fast."


def test_without_a_gain_the_largest_loss_is_told_and_the_baseline_stays() -> None:
    found = analyse(make_campaign({"a": noisy(1000), "slow": noisy(100), "slower": noisy(50)}))
    assert found.headline.startswith("Slower is 20.0 × slower than a")
    assert advice(found) == "Stay with a."
    assert any("Slower" in one.what for one in found.findings), "the advice tells of the same"


def runs_of(choice: str, load: str, rates: Mapping[str, Mapping[Any, float]]) -> list[Run]:
    """Five runs of each choice at each load, by their mean rates."""
    return [
        make_run({choice: one, load: level}, index + 1, {"iops": value, "latency_p99_ms": 1e4 / mean})
        for one, by_level in rates.items()
        for level, mean in by_level.items()
        for index, value in enumerate(noisy(mean))
    ]


def sizes(rates: dict[str, dict[int, float]], **study: Any) -> Campaign:
    """A cache of several sizes at loads: rate by size and load; the first size is the baseline."""
    first = next(iter(rates))
    runs = runs_of(SIZE, RATE, rates)
    factors = {SIZE: list(rates), RATE: list(next(iter(rates.values())))}
    assigns = {name: [{name: level} for level in levels] for name, levels in factors.items()}
    whole = {"factors": factors, "assigns": assigns, "loads": {RATE: "rate"}, **study}
    rules = {"baseline": {SIZE: first}, "rounds": 5}
    found = make_campaign({"x": []}, study=whole, compare=rules)
    return dataclasses.replace(found, runs=tuple(runs), planned=len(runs))


def test_the_smallest_of_sizes_that_bring_the_same_is_told_and_advised() -> None:
    rates = {"1GiB": 1000.0, "4GiB": 1500.0, "16GiB": 1501.0, "64GiB": 1502.0}
    found = analyse(sizes({size: {1000: rate, 2000: 2 * rate} for size, rate in rates.items()}))
    assert found.headline.startswith("Size 4GiB is 1.50 × faster than size 1GiB at 1,000/s (1,500 against 1,000 IOPS)")
    assert "Size 16GiB and size 64GiB bring no more within 2 %." in found.headline
    assert advice(found) == "Choose size 4GiB."


def test_of_requests_that_do_as_much_the_smallest_is_told_and_advised() -> None:
    """The larger ones wait for longer."""
    size = "workload.size"
    values = {"8KiB": 25.0, "64KiB": 131.0, "256KiB": 131.1}
    runs = [
        make_run({size: level}, number + 1, {"mb_per_s": value})
        for level, mean in values.items()
        for number, value in enumerate(noisy(mean))
    ]
    known = {"factors": {size: list(values)}, "assigns": {size: [{size: level} for level in values]}}
    rules = {"rounds": 5, "baseline": {size: "8KiB"}}
    whole = make_campaign({"x": []}, metric="mb_per_s", compare=rules, study=known, extra_runs=runs)
    found = analyse(dataclasses.replace(whole, planned=len(runs)))
    assert "Size 256KiB brings no more within 2 %." in found.headline
    assert advice(found) == "Choose size 64KiB."


def test_a_size_that_brings_more_is_chosen() -> None:
    found = analyse(sizes({"1GiB": {1000: 1000.0}, "4GiB": {1000: 1500.0}, "16GiB": {1000: 1900.0}}))
    assert advice(found) == "Choose size 16GiB."


def test_better_at_one_load_and_worse_at_another_is_no_choice() -> None:
    found = analyse(sizes({"1GiB": {1000: 1000.0, 2000: 1000.0}, "4GiB": {1000: 1500.0, 2000: 500.0}}))
    assert "2.00 × the other way at 2,000/s" in found.headline
    assert advice(found) == ("Choose by the load that you have: size 4GiB is better at 1,000/s, size 1GiB at 2,000/s.")


READ = "workload.read"


def mixed(rates: dict[str, dict[str, float]], **study: Any) -> Campaign:
    """Two kinds of storage at shares of reads that the baseline does not name."""
    runs = runs_of(FACTOR, READ, rates)
    factors = {FACTOR: list(rates), READ: list(next(iter(rates.values())))}
    loads = {FACTOR: "work", READ: "work"}
    found = make_campaign({next(iter(rates)): []}, study={"factors": factors, "loads": loads, **study})
    return dataclasses.replace(found, runs=tuple(runs), planned=len(runs))


def test_a_share_of_reads_is_a_load_and_each_side_is_named_where_it_wins() -> None:
    found = analyse(mixed({"old": {"0%": 5000.0, "100%": 1000.0}, "new": {"0%": 1000.0, "100%": 3000.0}}))
    assert found.loads == (READ,)
    assert found.load is None, "more of it is no more load"
    assert advice(found) == "Choose by the load that you have: new is better at read 100%, old at read 0%."
    assert "5.0 × slower than old at read 0%" in found.headline
    assert "3.00 × the other way at read 100%" in found.headline
    assert not any(one.severity == "good" for one in found.findings)


def test_what_is_better_at_one_share_and_no_worse_at_another_is_chosen() -> None:
    found = analyse(mixed({"old": {"0%": 5000.0, "100%": 1000.0}, "new": {"0%": 5001.0, "100%": 3000.0}}))
    assert advice(found) == "Choose new."


def test_a_difference_within_the_margin_does_not_stand_before_one_that_is_felt() -> None:
    """Of one seed, 2000 and 2000.4 scatter alike: the difference is certain."""
    deep = {"a": {"0%": 1000.0, "100%": 2000.0}, "deep": {"0%": 1000.0, "100%": 2000.4}}
    flat = mixed({**deep, "flat": {"0%": 1000.0, "100%": 1300.0}})
    found = analyse(dataclasses.replace(flat, clock="virtual"))
    verdicts = [c.verdict for c in found.comparisons if c.variant[FACTOR] == "deep"]
    assert Verdict.FASTER_SMALL in verdicts
    assert found.headline.startswith("flat is 1.54 × slower than a at read 100%")
    assert "deep brings no more within 2 %." in found.headline
    assert advice(found) == "Stay with a."
    found = analyse(dataclasses.replace(mixed(deep), clock="virtual"))
    assert found.headline.startswith("deep and a are equivalent within 2 % at both loads")
    assert advice(found) == "Choose by price or simplicity, not by speed."


def test_goals_are_told_by_the_work_at_which_they_are_met() -> None:
    rates = {"old": {"0%": 1000.0, "100%": 1100.0}, "new": {"0%": 1000.0, "100%": 3000.0}}
    found = analyse(mixed(rates, goals=[GOAL]))
    assert "new meets them at read 100%" in found.headline
    assert advice(found) == "Use new at read 100% only, or try faster storage."
    found = analyse(mixed({**rates, "newer": rates["new"]}, goals=[GOAL]))
    assert "; new and newer meet them at read 100%; of new, at read 0% p99 latency is" in found.headline


def test_work_that_the_baseline_names_is_compared_and_no_load() -> None:
    """A batch size is a key of the workload, and something to choose."""
    factors = {FACTOR: ["a", "b"]}
    found = analyse(
        make_campaign({"a": noisy(1000), "b": noisy(1500)}, study={"factors": factors, "loads": {FACTOR: "work"}})
    )
    assert found.loads == ()
    assert advice(found) == "Choose b."


GOAL = {"metric": "latency_p99_ms", "comparison": "<", "limit": 8.0, "text": "< 8ms"}


def test_goals_choose_the_smallest_size_whatever_is_fastest() -> None:
    rates = {"1GiB": 1000.0, "4GiB": 1500.0, "16GiB": 3000.0}
    found = analyse(sizes({size: {1000: rate, 2000: rate} for size, rate in rates.items()}, goals=[GOAL]))
    assert found.headline.startswith(
        "Size 4GiB is the smallest that meets the goals at every load; size 1GiB misses them: at 1,000/s p99 latency "
        "is 10.0 ms (goal: < 8ms). Size 4GiB is 1.50 × faster than size 1GiB at 1,000/s"
    )
    assert advice(found) == "Choose size 4GiB: it meets the goals."


def test_where_no_size_meets_the_goals_none_is_chosen() -> None:
    found = analyse(sizes({"1GiB": {1000: 2000.0, 2000: 900.0}, "4GiB": {1000: 2000.0, 2000: 1000.0}}, goals=[GOAL]))
    assert found.headline.startswith(
        "No variant meets the goals at every load; size 1GiB is the smallest that meets them up to 1,000/s; at 2,000/s "
        "p99 latency is 11.1 ms (goal: < 8ms)."
    )
    assert advice(found) == "Keep the load of size 1GiB at or below 1,000/s, or try faster storage."


def test_of_variants_without_an_amount_the_best_within_the_goals_is_chosen() -> None:
    def runs(level: str, rate: float, p99: float) -> list[Any]:
        return [
            make_run({FACTOR: level}, number + 1, {"iops": value, "latency_p99_ms": p99})
            for number, value in enumerate(noisy(rate))
        ]

    made = [*runs("a", 1000, 9.0), *runs("b", 1500, 7.0), *runs("c", 9000, 90.0)]
    whole = make_campaign({"a": []}, study={"goals": [GOAL]}, compare={"rounds": 5}, extra_runs=made)
    found = analyse(dataclasses.replace(whole, planned=len(made)))
    assert found.headline.startswith("B meets the goals; a and c miss them: at best p99 latency is 9.00 ms")
    assert advice(found) == "Choose b: it meets the goals."


@pytest.mark.parametrize(
    ("one", "other", "less"),
    [
        ({"size": "1GiB"}, {"size": "4GiB"}, True),
        ({"size": None}, {"size": "4GiB"}, True),
        ({"iops": 3000}, {"iops": "4500/s"}, True),
        ({"throughput": "125MiB/s"}, {"throughput": "1GiB/s"}, True),
        ({"size": "1GiB", "iops": 9000}, {"size": "4GiB", "iops": 3000}, None),
        ({"model": "aws/gp2"}, {"model": "aws/gp3"}, None),
    ],
)
def test_amounts_are_of_volumes_and_agree(one: dict[str, Any], other: dict[str, Any], less: bool | None) -> None:
    given = [{f"volumes.v.{key}": value for key, value in side.items() if value is not None} for side in (one, other)]
    study = {"factors": {"f": ["one", "other"]}, "assigns": {"f": given}}
    mine, theirs = amount(study, {"f": "one"}, {"f": "other"}), amount(study, {"f": "other"}, {"f": "one"})
    assert (mine is None, theirs is None) == (less is None, less is None)
    if mine is not None and theirs is not None:
        assert (mine < theirs) is less


def open_loop(waiting: dict[str, float], p99: dict[str, float], *, metric: str) -> Campaign:
    """Two volumes under 1,000 arrivals per second for 100 s, so many of them without an answer."""
    runs = [
        make_run(
            {FACTOR: name},
            number + 1,
            {
                "iops": 1000.0 + number,
                "latency_p99_ms": value,
                "elapsed_s": 100.0,
                "backlog_end": waiting[name],
                "arrivals_per_second": 1000.0,
            },
        )
        for name in waiting
        for number, value in enumerate(noisy(p99[name]))
    ]
    study = {"variants": [stated(demand={"rate": 1000.0})]}
    whole = make_campaign({"slow": []}, metric=metric, study=study, compare={"rounds": 5}, extra_runs=runs)
    return dataclasses.replace(whole, planned=len(runs))


def test_a_guard_counts_arrivals_without_an_answer() -> None:
    found = analyse(open_loop({"slow": 0, "fast": 3000}, {"slow": 10.0, "fast": 2.0}, metric="iops"))
    (guard,) = (one for one in found.comparisons[0].guards if one.metric == "latency_p99_ms")
    assert guard.worse, "the p99 of what was answered fell to a fifth"
    assert guard.left_out is not None
    assert guard.left_out.share == pytest.approx(0.029, abs=0.001)
    fair = analyse(open_loop({"slow": 0, "fast": 900}, {"slow": 10.0, "fast": 2.0}, metric="iops"))
    (guard,) = (one for one in fair.comparisons[0].guards if one.metric == "latency_p99_ms")
    assert (guard.worse, guard.left_out) == (False, None)


def closed_loop(standstill_ms: float, **compare: Any) -> Campaign:
    """Two volumes for 1,000 s, of which the faster one stood still for so long."""
    runs = [
        make_run(
            {FACTOR: name},
            number + 1,
            {"iops": iops + number, "latency_p99_ms": p99, "elapsed_s": 1000.0, "standstill_ms": still},
        )
        for name, iops, p99, still in (("slow", 1000.0, 10.0, 40.0), ("fast", 1500.0, 2.0, standstill_ms))
        for number in range(5)
    ]
    whole = make_campaign({"slow": []}, metric="iops", compare={"rounds": 5, **compare}, extra_runs=runs)
    return dataclasses.replace(whole, planned=len(runs))


def test_a_closed_loop_that_waited_for_a_standstill_has_no_good_percentile() -> None:
    found = analyse(closed_loop(29_000.0))
    assert "longest standstill: 29.0 s against 40.0 ms" in found.headline
    assert found.findings[0].rule == "trade-off"
    (p99,) = analyse(closed_loop(29_000.0, guards=["latency_p99_ms"])).comparisons[0].guards
    assert p99.worse, "the requests before and after the 29 s were fast"
    assert p99.left_out == LeftOut(pytest.approx(0.029, abs=0.001), 29.0)


def test_a_standstill_too_short_for_a_percentile_is_a_guard_of_its_own_from_a_second_on() -> None:
    def standing(milliseconds: float) -> tuple[bool, bool]:
        guards = {guard.metric: guard for guard in analyse(closed_loop(milliseconds)).comparisons[0].guards}
        return guards["latency_p99_ms"].worse, guards["standstill_ms"].worse

    assert standing(1_900.0) == (False, True), "0.2 % of the time are no matter for a p99"
    assert standing(950.0) == (False, False), "a standstill of less than a second is a matter of percentiles"


def test_a_goal_on_a_latency_is_missed_in_a_run_that_stood_still() -> None:
    study = {"goals": [{"metric": "latency_p99_ms", "comparison": "<", "limit": 20.0, "text": "< 20ms"}]}
    met = {outcome.variant[FACTOR]: outcome for outcome in outcomes_of(closed_loop(29_000.0).runs, study)}
    assert (met["slow"].passed, met["fast"].passed) == (True, False)
    assert miss_words(met["fast"]) == "nothing was answered for 29.0 s (goal: p99 latency < 20ms)"


@pytest.mark.parametrize(
    ("waiting", "p99", "verdict"),
    [
        ({"slow": 0, "fast": 3000}, {"slow": 10.0, "fast": 2.0}, Verdict.NOT_COMPARABLE),
        ({"slow": 0, "fast": 3000}, {"slow": 2.0, "fast": 10.0}, Verdict.SLOWER),
        ({"slow": 3000, "fast": 0}, {"slow": 10.0, "fast": 2.0}, Verdict.FASTER),
        ({"slow": 0, "fast": 0}, {"slow": 10.0, "fast": 2.0}, Verdict.FASTER),
    ],
)
def test_a_latency_flattered_by_arrivals_without_an_answer_wins_nothing(
    waiting: dict[str, float], p99: dict[str, float], verdict: Verdict
) -> None:
    (comparison,) = analyse(open_loop(waiting, p99, metric="latency_p99_ms")).comparisons
    assert comparison.verdict is verdict
    if any(waiting.values()):
        assert any("of the arrivals got no answer, which p99 latency leaves out" in one for one in comparison.reasons)


def test_a_volume_that_stood_still_is_overloaded_though_its_answers_were_fast() -> None:
    found = analyse(open_loop({"slow": 0, "fast": 60_000}, {"slow": 10.0, "fast": 2.0}, metric="iops"))
    assert [one.variant[FACTOR] for one in found.overloads] == []
    whole = open_loop({"slow": 0, "fast": 60_000}, {"slow": 10.0, "fast": 2.0}, metric="iops")
    runs = [
        dataclasses.replace(run, metrics={**run.metrics, "iops": 600.0}) if run.variant[FACTOR] == "fast" else run
        for run in whole.runs
    ]
    found = analyse(dataclasses.replace(whole, runs=tuple(runs)))
    assert [one.variant[FACTOR] for one in found.overloads] == ["fast"]
    assert found.comparisons[0].verdict is Verdict.OVERLOADED


def test_a_figure_whose_unit_does_not_name_it_has_its_name() -> None:
    alike = {"a": noisy(2.0), "b": [value * 1.0001 for value in reversed(noisy(2.0))]}
    found = analyse(make_campaign(alike, metric="latency_p99_ms", compare={"margin": 0.1}))
    assert found.headline.startswith("B and a are equivalent in p99 latency within 10 %: 2.00 against 2.00 ms")
    wild = {"a": [1.0, 3.0, 2.0], "b": [3.0, 1.5, 2.0], "c": [2.0, 4.0, 1.0]}
    found = analyse(make_campaign(wild, metric="latency_p99_ms"))
    said = (
        "None of 2 comparisons with a shows a difference in p99 latency after 3 rounds. B: 2.08 against 1.82 ms (97.5 %"
    )
    assert found.headline.startswith(said)
    assert "0.045 to 29.1 ×)" in found.headline, "what may be taken for milliseconds has its sign"
    assert found.headline.endswith("No affordable number of rounds would decide.")
    found = analyse(make_campaign({"a": wild["a"], "b": wild["b"]}, metric="latency_p99_ms"))
    assert "undecided in p99 latency: 2.08 against 1.82 ms" in found.headline


def test_an_undecided_interval_has_the_sign_of_its_values() -> None:
    less = {"a": [100.0, 101.0, 103.0, 99.0], "b": [99.0, 102.0, 100.0, 100.2]}
    found = analyse(make_campaign(less, metric="iops"))
    assert "100 against 101 IOPS (95 % interval −3" in found.headline, "B may be 3 % less, not 3 % more"


def test_an_overloaded_variant_meets_no_goal_and_no_assumption_turns_that() -> None:
    whole = open_loop({"slow": 0, "fast": 60_000}, {"slow": 10.0, "fast": 2.0}, metric="iops")
    goal = {"metric": "latency_p50_ms", "comparison": "<", "limit": 8.0, "text": "< 8ms"}
    runs = [
        dataclasses.replace(
            run,
            metrics={**run.metrics, "latency_p50_ms": 1.0, "iops": 600.0 if run.variant[FACTOR] == "fast" else 1000.0},
        )
        for run in whole.runs
    ]
    tried = [dataclasses.replace(run, assumed=("disk", "low"), facts={}) for run in runs]
    given = dataclasses.replace(
        whole, runs=tuple(runs), sensitivity=tuple(tried), study={**whole.study, "goals": [goal]}
    )
    found = analyse(given)
    assert found.decision.goals is not None
    assert (found.decision.goals.met, found.decision.goals.flips) == (1, ())
    assert found.headline.startswith("Slow meets the goals; fast misses them: 1,000/s are not sustained.")


def test_many_variants_are_counted_instead_of_named() -> None:
    rates = {f"{size}GiB": {1000: 1000.0 + size, 2000: 1000.0 + size} for size in range(1, 8)}
    found = analyse(sizes({**rates, "64GiB": {1000: 2000.0, 2000: 2000.0}}, goals=[GOAL]))
    assert found.headline.startswith(
        "Size 64GiB is the smallest that meets the goals at every load; 7 variants miss them: at best at 1,000/s p99 "
        "latency is 9.93 ms"
    )


@pytest.mark.parametrize("second", [[0.95, 1.22, 0.84, 1.17, 0.87], [1.5, 0.65, 1.6, 0.6, 1.06]])
def test_hundreds_of_rounds_are_no_advice(second: list[float]) -> None:
    """At a scatter of 17 and of 45 % a point near 1 does not say that the difference is small."""
    found = analyse(make_campaign({"a": [1000.0] * 5, "b": [1000.0 * each for each in second]}))
    assert found.comparisons[0].verdict is Verdict.UNDECIDED
    assert (found.comparisons[0].more_rounds or 1_000) > 100
    (finding,) = (one for one in found.findings if one.rule == "undecided")
    assert finding.remedies[0].action.startswith("Find the cause of the scatter")
    assert not finding.remedies[0].commands
    assert "rounds more" not in found.headline
    assert words(found.comparisons[0]) in ("undecided, too much scatter", "undecided")


def offered(loads: dict[int, float], p99: dict[int, float], **study: Any) -> Analysis:
    """Rates that arrive, and what is done of them; what is not done is refused."""
    metrics = {
        load: {"iops": done, "latency_p99_ms": p99[load], "refused": max(0.0, load - done), "elapsed_s": 1.0}
        for load, done in loads.items()
    }
    runs = tuple(make_run({RATE: load}, number, metrics[load]) for load in loads for number in (1, 2, 3))
    demands = [stated({RATE: load}, demand={"rate": float(load)}) for load in loads]
    whole = {"factors": {RATE: list(loads)}, "loads": {RATE: "rate"}, "variants": demands, "compare": None, **study}
    made = make_campaign({"x": []}, compare={"rounds": 3})
    return analyse(dataclasses.replace(made, runs=runs, planned=len(runs), study=whole))


SUSTAINED = "Offer at most 2,000/s to the storage, the highest load that was sustained here"
WITHIN_GOALS = "Offer at most 1,000/s to the storage, the highest load that met the goals here"


def test_why_a_load_that_met_the_goals_is_not_advised_is_told() -> None:
    p99 = {2000: 3.0, 2980: 4.0, 4000: 900.0}
    found = offered({2000: 2000.0, 2980: 2980.0, 4000: 3000.0}, p99, goals=[GOAL])
    assert found.headline.startswith("The goals are met up to 2,980/s")
    (overload,) = (one for one in found.findings if one.rule == "overload")
    action = "Offer at most 2,000/s to the storage, the highest load that met the goals here with room to spare"
    assert overload.remedies[0].action.startswith(action)
    full = "2,980/s met the goals, too, but it is all that the storage does: what has to wait once is never worked off."
    assert full in [one.sentence for one in overload.evidence]


@pytest.mark.parametrize(
    ("loads", "goals", "words"),
    [
        ({1000: 1000.0, 2000: 2000.0, 4000: 3000.0}, False, SUSTAINED),
        # All that is done of more: no wait is ever worked off at it.
        ({2000: 2000.0, 2980: 2980.0, 4000: 3000.0}, False, SUSTAINED),
        # 2,000/s are sustained, at a latency that the study does not allow.
        ({1000: 1000.0, 2000: 2000.0, 4000: 3000.0}, True, WITHIN_GOALS),
        ({4000: 3000.0}, True, "Offer less than 3,000/s"),
    ],
)
def test_the_load_that_is_advised_is_sustained_and_meets_the_goals(
    loads: dict[int, float], goals: bool, words: str
) -> None:
    p99 = {1000: 5.0, 2000: 9.0, 2980: 60.0, 4000: 900.0}
    found = offered(loads, p99, goals=[GOAL] if goals else [])
    (overload,) = (one for one in found.findings if one.rule == "overload")
    assert overload.remedies[0].action.startswith(words)
    assert any("--find-max" in one.sentence for one in overload.evidence) is (len(loads) == 1)


def test_of_variants_that_meet_the_goals_alike_none_is_chosen_for_its_place_in_the_list() -> None:
    def runs(level: str) -> list[Any]:
        return [
            make_run({FACTOR: level}, number + 1, {"iops": value, "latency_p99_ms": 7.0})
            for number, value in enumerate(noisy(1000))
        ]

    made = [run for level in "abc" for run in runs(level)]
    whole = make_campaign({"a": []}, study={"goals": [GOAL]}, compare={"rounds": 5}, extra_runs=made)
    found = analyse(dataclasses.replace(whole, planned=len(made), clock="virtual"))
    assert found.headline.startswith("Every variant meets the goals.")
    assert advice(found) == "Choose the cheapest of a, b and c: all meet the goals."


def test_goals_and_first_card_are_about_one_variant() -> None:
    """The first in the list that meets the goals for ever is no faster than the baseline; another one is."""
    volume = "workload.volume"
    rates = {"a": 1000.0, "b": 1000.0, "c": 3000.0}
    made = [
        make_run({volume: level}, number + 1, {"iops": value, "latency_p99_ms": 9.0 if level == "a" else 7.0})
        for level, rate in rates.items()
        for number, value in enumerate(noisy(rate))
    ]
    study = {"goals": [GOAL], "factors": {volume: list(rates)}, "variants": [stated({volume: v}) for v in rates]}
    rules = {"rounds": 5, "baseline": {volume: "a"}}
    whole = make_campaign({"a": []}, study=study, compare=rules, extra_runs=made)
    found = analyse(dataclasses.replace(whole, planned=len(made), clock="virtual"))
    told = found.decision.told
    assert told is not None
    assert told.variant == found.decision.taken == {volume: "b"}
    assert "b and a are equivalent" in found.headline
    assert found.headline.endswith("Of 2 comparisons 1 shows a difference.")
