"""Whole campaigns get the verdict they deserve, with the reasons a person would give."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.conftest import COMPARE
from fathom.analysis.analyse import analyse
from fathom.analysis.compare import ALPHA, pooled_sd
from fathom.analysis.estimate import DETERMINISTIC
from fathom.analysis.interval import t_interval
from fathom.analysis.looks import DEFAULT_LOOKS, nominal_alpha
from fathom.analysis.model import Comparison, Verdict
from fathom.analysis.pairing import Pairing, averaged
from fathom.results import Campaign, Run

HAMMERDB_822 = (134092.0, 129852.0, 206136.0, 198488.0, 123287.0, 195082.0)
BASE = (1000.0, 1010.0, 990.0, 1005.0, 995.0)

Make = Callable[..., Campaign]


def only(campaign: Campaign) -> Comparison:
    (found,) = analyse(campaign).comparisons
    return found


def times(
    values: Sequence[float], factor: float, noise: Sequence[float] = (0.002, -0.001, 0.001, -0.002, 0.0)
) -> list[float]:
    return [value * factor * (1 + noise[i % len(noise)]) for i, value in enumerate(values)]


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [
        (61.0, Verdict.FASTER),
        (0.5, Verdict.SLOWER),
        (1.01, Verdict.FASTER_SMALL),
        (0.99, Verdict.SLOWER_SMALL),
        (1.0, Verdict.EQUIVALENT),
    ],
)
def test_verdict_of_a_clear_campaign(campaign: Make, factor: float, verdict: Verdict) -> None:
    found = only(campaign({"a": BASE, "b": times(BASE, factor)}))
    assert found.verdict is verdict
    assert found.ratio is not None
    assert found.ratio.n == 5
    assert found.ratio.value == pytest.approx(factor, rel=0.001)
    assert [number for number, _ in found.points] == [1, 2, 3, 4, 5]


def test_pairing_removes_what_the_round_did_to_both(campaign: Make) -> None:
    swings = (600.0, 1400.0, 800.0, 1200.0, 1000.0)
    found = only(campaign({"a": swings, "b": times(swings, 1.05)}))
    assert found.verdict is Verdict.FASTER


def test_latency_that_halves_is_twice_as_fast(campaign: Make) -> None:
    found = only(campaign({"a": BASE, "b": times(BASE, 0.5)}, metric="latency_ms"))
    assert found.verdict is Verdict.FASTER
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(2.0, rel=0.001)


def test_noisy_campaign_is_undecided_and_says_how_many_rounds(campaign: Make) -> None:
    found = only(campaign({"a": BASE, "b": (1050.0, 960.0, 1040.0, 980.0, 1030.0)}))
    assert found.verdict is Verdict.UNDECIDED
    assert found.more_rounds is not None
    assert 5 <= found.more_rounds <= 80


def test_rounds_needed_beyond_the_budget_are_told(campaign: Make) -> None:
    noisy = (1050.0, 960.0, 1040.0, 980.0, 1030.0)
    found = only(campaign({"a": BASE, "b": noisy}, compare={"max_rounds": 12}))
    assert any("more than max_rounds = 12" in reason for reason in found.reasons)


def test_wild_campaign_is_told_to_look_for_the_cause(campaign: Make) -> None:
    found = only(campaign({"a": BASE, "b": (500.0, 2500.0, 700.0, 1500.0, 1000.0)}))
    assert (found.verdict, found.more_rounds) == (Verdict.UNDECIDED, None)
    assert any("find the cause" in reason for reason in found.reasons)


def test_one_round_decides_nothing_however_large_the_ratio(campaign: Make) -> None:
    found = only(campaign({"a": [10.0], "b": [9000.0]}))
    assert found.verdict is Verdict.UNDECIDED
    assert found.ratio is not None
    assert not found.ratio.has_interval
    assert found.p_permutation is None
    assert (found.more_rounds or 0) >= 1


def test_hammerdb_822_against_itself_is_two_modes(campaign: Make) -> None:
    found = only(campaign({"a": HAMMERDB_822, "b": HAMMERDB_822[::-1]}, metric="nopm"))
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert any("two modes, 3 runs around 129,0" in reason for reason in found.reasons)


def test_two_modes_do_not_hide_a_difference_that_dwarfs_them(campaign: Make) -> None:
    found = only(campaign({"a": HAMMERDB_822, "b": times(HAMMERDB_822, 60)}, metric="nopm"))
    assert found.verdict is Verdict.FASTER
    assert any("two modes" in reason and "the verdict would stay" in reason for reason in found.reasons)


def test_a_failed_run_makes_the_survivors_unfair(campaign: Make) -> None:
    found = only(campaign({"a": BASE, "b": [*times(BASE, 2.0)[:4], None]}))
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert found.ratio is not None
    assert found.reasons == ("b: 1 of 5 runs failed (input-output)",)


def test_a_failed_run_that_was_repeated_is_forgiven(campaign: Make, run: Callable[..., Run], factor: str) -> None:
    again = run({factor: "b"}, 5, {"iops": 2000.0}, order=2)
    found = only(campaign({"a": BASE, "b": [*times(BASE, 2.0)[:4], None]}, extra_runs=[again]))
    assert found.verdict is Verdict.FASTER


def test_a_run_that_a_person_stopped_is_only_missing(campaign: Make, run: Callable[..., Run], factor: str) -> None:
    stopped = run({factor: "b"}, 5, None, reason="cancelled")
    found = only(campaign({"a": BASE, "b": times(BASE, 2.0)[:4]}, extra_runs=[stopped]))
    assert found.verdict is Verdict.FASTER
    assert found.ratio is not None
    assert found.ratio.n == 4


def test_a_ratio_that_drifts_is_not_comparable(campaign: Make) -> None:
    base = [1000.0] * 8
    drifting = [1000.0 * (1 + 0.01 * n + 0.001 * (-1) ** n) for n in range(8)]
    found = only(campaign({"a": base, "b": drifting}))
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert "the ratio drifts: it grows by" in found.reasons[0]


def test_a_zero_leaves_no_ratio(campaign: Make) -> None:
    found = only(campaign({"a": BASE, "b": [*times(BASE, 2.0)[:4], 0.0]}))
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert "zero or missing in round 5" in found.reasons[0]


def test_nothing_in_common_is_not_comparable(campaign: Make) -> None:
    found = only(campaign({"a": BASE, "b": BASE}, compare={"metric": "nopm"}))
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert found.ratio is None
    assert found.reasons


def test_a_measured_value_that_never_varies_is_not_compared(campaign: Make) -> None:
    found = only(campaign({"a": [1e6] * 5, "b": [1e6] * 5}, metric="rows"))
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert "rows gives exactly the same ratio in every round" in found.reasons[0]


@pytest.mark.parametrize(("factor", "verdict"), [(2.0, Verdict.FASTER), (1.0, Verdict.EQUIVALENT)])
def test_a_simulation_without_chance_is_exact_and_says_so(campaign: Make, factor: float, verdict: Verdict) -> None:
    found = only(campaign({"a": [1000.0] * 3, "b": [1000.0 * factor] * 3}, clock="virtual"))
    assert found.verdict is verdict
    assert found.ratio is not None
    assert (found.ratio.low, found.ratio.high, found.ratio.method) == (factor, factor, DETERMINISTIC)
    assert any("no error of the model" in reason for reason in found.reasons)
    assert any("changes nothing of it" in reason for reason in found.reasons) == (factor == 1)


@pytest.mark.parametrize(("a", "b"), [((1, 1), (2, 2)), ((4, 2), (2, 1)), ((1, 1), (1, 1))])
def test_rounds_that_agree_in_a_small_count_alone_are_not_exact(
    campaign: Make, a: tuple[float, ...], b: tuple[float, ...]
) -> None:
    """Two equal volumes: the longest queue was 1 of one and 2 of the other in both rounds, and no round was another."""
    found = only(of_chance(campaign({"a": a, "b": b}, metric="backlog_max", clock="virtual")))
    assert found.verdict is Verdict.UNDECIDED
    assert found.ratio is not None
    assert found.ratio.method != DETERMINISTIC
    assert found.ratio.low < 0.5
    assert found.ratio.high > 2


def test_rounds_that_agree_in_a_fine_figure_alone_have_its_rounding_as_their_interval(campaign: Make) -> None:
    made = campaign({"a": [4.001791] * 3, "b": [2.000895] * 3}, metric="latency_p99_ms", clock="virtual")
    found = only(of_chance(made))
    assert found.verdict is Verdict.FASTER
    assert found.ratio is not None
    assert 1.99 < found.ratio.low < found.ratio.value < found.ratio.high < 2.01
    assert any("coarse, not exact" in reason for reason in found.reasons)


def test_many_rounds_that_agree_in_a_small_count_have_a_verdict(campaign: Make) -> None:
    """Rounding to whole requests hides a third of a request at most; over eight rounds 1 is less than 2."""
    found = only(of_chance(campaign({"a": [2.0] * 8, "b": [1.0] * 8}, metric="backlog_max", clock="virtual")))
    assert found.verdict is Verdict.FASTER
    nearly = only(of_chance(campaign({"a": [40.0] * 5, "b": [39.0] * 5}, metric="backlog_max", clock="virtual")))
    assert nearly.verdict is Verdict.FASTER
    assert nearly.ratio is not None
    assert nearly.ratio.low < nearly.ratio.value < nearly.ratio.high


def of_chance(campaign: Campaign) -> Campaign:
    """With a digest of its own for every run, and a figure that never comes out the same."""
    changed = [
        dataclasses.replace(run, digest=f"{place:x}", metrics={**run.metrics, "elapsed_s": 1 + place / 7})
        for place, run in enumerate(campaign.runs)
    ]
    return dataclasses.replace(campaign, runs=tuple(changed))


def test_a_simulation_with_chance_gets_an_ordinary_interval(campaign: Make) -> None:
    found = only(campaign({"a": BASE, "b": times(BASE, 2.0)}, clock="virtual"))
    assert found.ratio is not None
    assert found.ratio.low < found.ratio.value < found.ratio.high
    assert found.ratio.method == "Student's t on log ratios per round"


def test_twenty_rounds_are_bootstrapped(campaign: Make) -> None:
    rng = np.random.default_rng(1)
    base = 1000 * np.exp(0.02 * rng.standard_normal(20))
    better = 1100 * np.exp(0.02 * rng.standard_normal(20))
    found = only(campaign({"a": base.tolist(), "b": better.tolist()}))
    assert found.ratio is not None
    assert found.ratio.method == "expanded BCa bootstrap on log ratios per round"
    assert found.verdict is Verdict.FASTER


def test_looks_widen_the_interval(campaign: Make) -> None:
    values = {"a": BASE, "b": times(BASE, 1.05)}
    plain, declared = only(campaign(values)), only(campaign(values, compare={"looks": list(DEFAULT_LOOKS)}))
    assert plain.ratio is not None
    assert declared.ratio is not None
    assert plain.ratio.level == pytest.approx(1 - ALPHA)
    assert declared.ratio.level == pytest.approx(1 - nominal_alpha(DEFAULT_LOOKS, ALPHA))
    assert declared.ratio.high - declared.ratio.low > plain.ratio.high - plain.ratio.low
    assert declared.equivalence is not None
    assert declared.equivalence.level > 0.90


def test_looks_that_were_taken_are_paid_for(campaign: Make) -> None:
    eight = {"a": (BASE * 2)[:8], "b": times((BASE * 2)[:8], 1.05)}
    found = dataclasses.replace(campaign(eight, compare={"rounds": 5}), looks=(5,))
    ratio = only(found).ratio
    assert ratio is not None
    assert ratio.level == pytest.approx(1 - nominal_alpha((5, 8), ALPHA))
    assert any("corrected for looks after 5, 8 rounds" in text for text in analyse(found).warnings)


def test_three_variants_share_the_risk_by_holm(campaign: Make) -> None:
    values = {"a": BASE, "b": times(BASE, 2.0), "c": times(BASE, 1.004), "d": times(BASE, 1.0)}
    found = {c.variant["workload.transaction"]: c for c in analyse(campaign(values)).comparisons}
    levels = {name: c.ratio.level for name, c in found.items() if c.ratio is not None}
    assert levels["b"] == pytest.approx(1 - ALPHA / 3)
    assert levels["b"] >= levels["c"] >= levels["d"]


def test_each_load_has_its_own_baseline(run: Callable[..., Run], campaign: Make) -> None:
    runs = [
        run({"cache": cache, "users": users}, n + 1, {"iops": value * users * (1 + (cache == "on"))})
        for cache in ("off", "on")
        for users in (34, 55)
        for n, value in enumerate(BASE)
    ]
    whole = campaign({"x": []}, compare={"baseline": {"cache": "off"}, "rounds": 5}, extra_runs=runs)
    found = analyse(whole).comparisons
    assert [(c.variant["users"], c.baseline) for c in found] == [
        (34, {"cache": "off", "users": 34}),
        (55, {"cache": "off", "users": 55}),
    ]


def test_small_difference_within_the_margin_is_also_called_equivalent(campaign: Make) -> None:
    found = only(campaign({"a": BASE, "b": times(BASE, 1.01)}))
    assert "also equivalent within 2 %" in found.reasons


def test_five_rounds_come_with_a_word_on_the_permutation_test(campaign: Make) -> None:
    found = only(campaign({"a": BASE, "b": times(BASE, 2.0)}))
    assert found.p_permutation == 0.0625
    assert any("cannot be below 0.0625" in reason for reason in found.reasons)


ENVIRONMENT = {
    "machine": {"kernel": "6.18", "host": "a"},
    "disk": {"file_system": "ext4", "free_bytes": 1},
    "versions": {"numpy": "2.4"},
    "build": {"commit": "abc"},
    "moment": {"load_average": [0.1]},
}


def surroundings(**changes: Any) -> dict[str, Any]:
    changed = {
        path.split("__")[0]: {**ENVIRONMENT[path.split("__")[0]], path.split("__")[1]: v} for path, v in changes.items()
    }
    return {**ENVIRONMENT, **changed}


def with_environments(campaign: Campaign, baseline: dict[str, Any], last: dict[str, Any]) -> Campaign:
    """All runs with the same surroundings, but the last run of the second variant."""
    runs = [dataclasses.replace(run, environment=baseline) for run in campaign.runs]
    runs[-1] = dataclasses.replace(runs[-1], environment=last)
    return dataclasses.replace(campaign, runs=tuple(runs))


@pytest.mark.parametrize(
    ("changes", "clock", "comparable"),
    [
        ({}, "real", True),
        ({"disk__free_bytes": 2}, "real", True),
        ({"moment__load_average": [9.0]}, "real", True),
        ({"versions__numpy": "9"}, "real", True),
        ({"disk__file_system": "xfs"}, "real", False),
        ({"machine__kernel": "6.19"}, "real", False),
        ({"build__commit": "def"}, "real", False),
        ({"machine__kernel": "6.19"}, "virtual", True),
        ({"build__commit": "def"}, "virtual", False),
    ],
)
def test_surroundings_that_change_forbid_a_comparison(
    campaign: Make, changes: dict[str, Any], clock: str, comparable: bool
) -> None:
    plain = campaign({"a": BASE, "b": times(BASE, 2.0)}, clock=clock)
    found = only(with_environments(plain, ENVIRONMENT, surroundings(**changes)))
    assert (found.verdict is Verdict.FASTER) == comparable
    assert comparable or "did not share one environment" in found.reasons[0]


def test_pooled_sd_weighs_by_degrees_of_freedom() -> None:
    first, second = np.array([0.0, 1.0, 2.0]), np.array([0.0, 4.0])
    assert pooled_sd([first, second, np.array([7.0])]) == pytest.approx(np.sqrt((2.0 + 8.0) / 3))
    assert pooled_sd([np.array([1.0])]) is None


def over_loads(make_run: Callable[..., Run], ratios: dict[int, Sequence[float]], **rules: Any) -> Campaign:
    """A campaign of a cache, none or big, under several numbers of users; `ratios` by users and round."""
    runs = [
        make_run({"cache": cache, "workload.users": users}, number, {"iops": base * (ratio if cache == "big" else 1)})
        for users, series in ratios.items()
        for number, ratio in enumerate(series, 1)
        for base in (100.0 * users * (1 + number / 10),)
        for cache in ("none", "big")
    ]
    runs.reverse()
    usual = {**COMPARE, "metric": "iops", "baseline": {"cache": "none"}, "mean_over": ["workload.users"]}
    compare = {**usual, **rules}
    factors = {"cache": ["none", "big"], "workload.users": list(ratios)}
    loads = {"workload.users": "users"}
    study = {"title": "T", "question": "Q", "compare": compare, "factors": factors, "loads": loads}
    return Campaign(Path("nowhere"), study, "", 7, "real", tuple(runs), len(runs))


def test_the_mean_over_loads_is_the_geometric_mean_of_their_ratios(run: Callable[..., Run]) -> None:
    ratios = {2: [1.1, 1.12, 1.09, 1.11, 1.1], 8: [2.0, 2.1, 1.9, 2.05, 1.95], 32: [3.0, 3.1, 3.05, 2.95, 2.9]}
    campaign = over_loads(run, ratios)
    found = only(campaign)
    assert found.variant == {"cache": "big"}
    assert found.baseline == {"cache": "none"}
    means = {n: float(np.prod([s[n - 1] for s in ratios.values()])) ** (1 / 3) for n in range(1, 6)}
    assert dict(found.points) == pytest.approx(means)
    assert found.averaged == ({"workload.users": 2}, {"workload.users": 8}, {"workload.users": 32})
    assert found.verdict is Verdict.FASTER
    said = analyse(campaign).headline
    assert "on average over 2, 8 and 32 users" in said, said


def test_a_mean_that_one_level_contradicts_is_no_choice_whichever_side_is_the_baseline(run: Callable[..., Run]) -> None:
    """Three times at 2 users and half at 8: faster by the mean, and by the inverse slower."""
    fast = {2: [3.0, 3.1, 2.95, 3.05, 2.9], 8: [0.5, 0.51, 0.49, 0.52, 0.5]}
    slow = {at: [1 / ratio for ratio in series] for at, series in fast.items()}
    logs = []
    for ratios, users in ((fast, 2), (slow, 8)):
        found = analyse(over_loads(run, ratios))
        (comparison,) = found.comparisons
        assert comparison.ratio is not None
        logs.append(np.log(comparison.ratio.value))
        assert [one["workload.users"] for one in comparison.contrary] == [8]
        assert "2.00 × " in found.headline or "1.98 × " in found.headline
        assert "at 8 users" in found.headline
        card = next(one for one in found.findings if one.rule == "by-load")
        assert card.severity == "warning"
        assert f"big is better at {users} users, cache none" in card.remedies[0].action
        assert found.decision.taken is None
    assert logs[0] == pytest.approx(-logs[1])


def test_a_mean_of_opposites_is_not_told_as_equivalent(run: Callable[..., Run]) -> None:
    found = analyse(over_loads(run, {2: [2.0, 2.02, 1.99, 2.01, 2.0], 8: [0.5, 0.495, 0.503, 0.498, 0.5]}))
    assert found.comparisons[0].verdict is Verdict.EQUIVALENT
    assert "but 2.00 × faster at 2 users; 2.00 × slower at 8 users" in found.headline
    assert not any(one.severity == "good" for one in found.findings)
    assert any(one.rule == "by-load" for one in found.findings)


def test_a_mean_over_equal_levels_is_no_more_often_faster_than_slower() -> None:
    """Nine levels whose values scatter by 20 %: by the mean of the ratios 33 % were faster and none slower."""
    rng = np.random.default_rng(5)
    verdicts = []
    for logs in 0.28 * rng.standard_normal((400, 9, 19)):
        parts = [
            Pairing({"f": "b", "at": at}, {"f": "a", "at": at}, "iops", tuple(range(19)), one, ())
            for at, one in enumerate(logs)
        ]
        (mean,) = averaged(parts, ["at"])
        found = t_interval(mean.logs, 0.95)
        verdicts.append(float(found.low > 0) - float(found.high < 0))
    assert verdicts.count(1.0) <= 20
    assert verdicts.count(-1.0) <= 20
    assert sum(verdicts.count(one) for one in (1.0, -1.0)) >= 8


def test_a_mean_needs_every_load_of_a_round(run: Callable[..., Run]) -> None:
    whole = over_loads(run, {2: [1.5] * 5, 8: [2.0, 2.1, 1.9, 2.05, 1.95]})
    short = dataclasses.replace(
        whole,
        runs=tuple(r for r in whole.runs if (r.round, r.variant) != (3, {"cache": "big", "workload.users": 8})),
    )
    assert [number for number, _ in only(short).points] == [1, 2, 4, 5]


def test_what_speaks_against_one_load_is_said_of_the_mean(run: Callable[..., Run]) -> None:
    whole = over_loads(run, {2: [1.5, 1.51, 1.49, 1.5, 1.5], 8: [2.0, 2.1, 1.9, 2.05, 1.95]})
    failed = run({"cache": "big", "workload.users": 8}, 6, None, reason="timeout")
    found = only(dataclasses.replace(whole, runs=(*whole.runs, failed)))
    assert found.verdict is Verdict.NOT_COMPARABLE
    assert found.reasons[0] == "big, 8 users: 1 of 6 runs failed (timeout)"
