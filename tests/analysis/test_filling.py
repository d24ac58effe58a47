"""Write-back caches that still fill at the end of a run: which are told, how long they last, and what is said of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl
import pytest

from analysis.conftest import FACTOR, make_campaign, make_run, stated
from fathom.analysis.analyse import analyse
from fathom.analysis.filling import stays, too_short
from fathom.analysis.goals import goal_answer
from fathom.analysis.model import Source
from fathom.analysis.reserves import all_reserves, reserves_of
from fathom.goals import outcomes_of
from fathom.results import Run

MB = 1_000_000
LIMIT = 800
STEADY = [20.0 * at for at in range(1, 31)]
"""A level that rises by 20 MB/s and reaches three quarters of its limit."""


def cached(
    levels: list[float], *, name: str = "a", number: int = 1, written: float = 30.0, limit: int = LIMIT, ramp: int = 0
) -> Run:
    """A run of intervals of 1 s on a cache, with its dirty level after each and what was written in each, MB."""
    rows = [
        {"t_s": float(at - ramp), "seconds": 1.0, "phase": "measure", "node": "cache", "op": op, "count": 1,
         "bytes": int(size * MB), "latency_mean_ns": 1e6, "outstanding_mean": 1.0}
        for at, level in enumerate(levels)
        for op, size in (("write", written), ("dirty_bytes", level))
    ]  # fmt: skip
    made = make_run(
        {FACTOR: name}, number, {"iops": 4000.0 + number, "latency_p99_ms": 1.0}, samples=pl.DataFrame(rows)
    )
    facts = {"volumes.cache.dirty_limit_bytes": str(limit * MB)}
    return dataclasses.replace(made, facts=facts, measured_s=float(len(levels)), status="ok")


def saw(levels: list[float], depth: float, period: int) -> list[float]:
    """The levels with what a batch gives back in one go."""
    return [level - depth * (at % period) / period for at, level in enumerate(levels)]


def study(**words: Any) -> dict[str, Any]:
    return {"variants": [stated({FACTOR: name}, **words) for name in ("a", "b")]}


def test_a_cache_that_fills_with_all_its_hurry_is_told_with_the_time_that_is_left() -> None:
    (found,) = all_reserves([cached(STEADY)], reserves_of([cached(STEADY)], study()))
    assert found.source is Source.CACHE
    assert found.words == "was still filling its cache: 20 MB/s more than it puts in place, full in 10 s"
    assert found.whole_s == 40.0


@pytest.mark.parametrize(
    ("levels", "short"),
    [
        ([level / 2 for level in STEADY], True),
        (saw([300.0] * 30, 80, 7), False),
        (saw([*STEADY[:15], *[600.0] * 45], 60, 9), False),
        (list(reversed(STEADY)), False),
        (STEADY[-6:], False),
        ([500.0 + at * 0.1 for at in range(30)], False),
    ],
    ids=["below its hurry", "level", "levelled off", "falling", "too few samples", "hardly rising"],
)
def test_other_levels_do_not_end(levels: list[float], short: bool) -> None:
    run = cached(levels)
    assert reserves_of([run], study())[run.id] == ()
    assert too_short(run, study()) is short


@pytest.mark.parametrize("words", [{"phases": [{"demand": None}]}, {"lasts_ns": None}])
def test_a_load_that_comes_and_goes_or_ends_need_not_last(words: dict[str, Any]) -> None:
    run = cached(STEADY)
    assert reserves_of([run], study(**words))[run.id] == ()


def test_runs_that_ended_while_a_cache_filled_are_told() -> None:
    runs = [cached([level / 2 for level in STEADY], number=number) for number in (1, 2)]
    whole = make_campaign({"a": []}, study={"compare": None, **study()}, extra_runs=runs)
    found = analyse(dataclasses.replace(whole, planned=2))
    assert not found.reserves
    assert any("still filled when 2 of 2 runs ended" in text for text in found.warnings)


def test_a_cache_that_fills_is_a_price_and_no_choice() -> None:
    levels = {"a": saw([300.0] * 30, 80, 7), "b": STEADY}
    runs = [cached(levels[name], name=name, number=number) for name in levels for number in range(1, 6)]
    slow = [dataclasses.replace(run, metrics={**run.metrics, "iops": 0.5 * 4000 + run.round}) for run in runs[:5]]
    whole = make_campaign({"a": []}, compare={"rounds": 5}, study=study(), extra_runs=[*slow, *runs[5:]])
    found = analyse(dataclasses.replace(whole, planned=10))
    assert "but it was still filling its cache: 20 MB/s more than it puts in place, full in 10 s" in found.headline
    assert found.findings[0].rule == "trade-off"
    (filling,) = (one for one in found.findings if one.rule == "cache-filling")
    assert filling.remedies[0].commands == ('workload.ramp = "42s"',)


def test_goals_that_are_met_while_a_cache_fills_name_who_meets_them_for_ever() -> None:
    size = "volumes.cache.size"
    known: dict[str, Any] = {
        "goals": [{"metric": "latency_p99_ms", "comparison": "<", "limit": 5.0, "text": "< 5ms"}],
        "factors": {size: ["1GiB", "4GiB"]},
        "variants": [stated({size: level}) for level in ("1GiB", "4GiB")],
    }
    runs = [
        dataclasses.replace(cached(levels, name=level), variant={size: level})
        for level, levels in (("1GiB", STEADY), ("4GiB", [300.0] * 30))
    ]
    found = goal_answer(outcomes_of(runs, known), known, (), (), all_reserves(runs, reserves_of(runs, known)))
    assert found is not None
    assert found.chosen == found.nearest == {size: "4GiB"}
    assert found.sentence == (
        "Every variant meets the goals; size 4GiB is the smallest that does so for ever; size 1GiB does so only while "
        "its cache fills (20 MB/s more than it puts in place, full in 10 s)."
    )


@pytest.mark.parametrize(
    ("levels", "words", "limit"),
    [
        (STEADY, "it does 3,001, 2,001 of them to fill a cache", "less than 1,000/s"),
        ([300.0] * 30, "it does 3,001, 1,000 of them to fill a cache", "less than 2,001/s"),
        ([20.0] * 30, "it does 3,001", "less than 3,001/s"),
    ],
    ids=["fills", "filled at once", "takes next to nothing"],
)
def test_what_a_cache_parked_is_not_what_its_volume_sustains(levels: list[float], words: str, limit: str) -> None:
    made = cached(levels)
    made = dataclasses.replace(made, metrics={**made.metrics, "iops": 3001.0, "refused": 5e5, "elapsed_s": 30.0})
    known = study(demand={"rate": 8000.0})
    whole = make_campaign({"a": []}, study={"compare": None, **known}, extra_runs=[made])
    found = analyse(dataclasses.replace(whole, planned=1))
    (over,) = (one for one in found.findings if one.rule == "overload")
    assert f"cannot sustain 8,000/s: {words}; 500,000 arrivals refused" in over.what
    assert f"Offer {limit} with a" in over.remedies[0].action


def test_what_was_dirty_before_the_measured_time_was_not_parked_in_it() -> None:
    assert stays(cached(STEADY)) == pytest.approx(600 / 900)
    assert stays(cached(STEADY, ramp=10)) == pytest.approx(400 / 600)
