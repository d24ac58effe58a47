"""Sequences of virtual users: a first step discarded, equal levels averaged, each level a load like any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from fathom import record, steps
from fathom.analysis.analyse import analyse
from fathom.analysis.sequence import USERS, by_level
from fathom.analysis.steady import steady_state
from fathom.report.build import build
from fathom.results import Campaign, Run
from fathom.steps import Step

Driven = Callable[..., Run]
WHOLE = {"steps": [{"number": 0, "users": 4, "discarded": True, "metrics": {"nopm": 7.5, "tpm": None}}]}


def step(number: int, users: int, value: float, *, discarded: bool = False) -> Step:
    """A step of 10 s, 12 s after the one before; the samples of those that count follow each other."""
    samples = None if discarded else (10.0 * (number - 1), 10.0 * number)
    return Step(
        number, users, discarded, {"nopm": value, "latency_p95_ms": 12.5}, samples, (12.0 * number, 12.0 * number + 10)
    )


@pytest.fixture
def driven(run: Callable[..., Run], factor: str) -> Driven:
    """A run whose sequence yielded these values, as (users, NOPM)."""

    def make(level: str, number: int, *values: tuple[int, float]) -> Run:
        driven = [step(0, values[0][0], 7.0, discarded=True)]
        driven += [step(place, users, value) for place, (users, value) in enumerate(values, 1)]
        return replace(run({factor: level}, number, steps.overall(driven)), steps=tuple(driven), seconds=60.0)

    return make


def test_a_runs_own_metrics_are_the_mean_over_its_levels(driven: Driven) -> None:
    made = driven("none", 1, (34, 100.0), (34, 110.0), (34, 120.0), (55, 150.0))
    assert made.metrics["nopm"] == pytest.approx((110 + 150) / 2), "not the best step's, and the first does not count"


def test_a_metric_that_a_step_lacks_is_the_mean_of_the_others() -> None:
    assert steps.mean([{"a": 1.0, "b": None}, {"a": 3.0, "c": None}]) == {"a": 2.0, "b": None, "c": None}


def test_what_is_written_is_read_again() -> None:
    some = (step(0, 4, 7.5, discarded=True), step(1, 4, 8.5))
    assert steps.read(steps.written(some)) == some
    with pytest.raises(KeyError):
        steps.read(WHOLE)


def test_each_level_is_a_run(driven: Driven, campaign: Callable[..., Campaign], factor: str) -> None:
    one = driven("none", 1, (34, 100.0), (34, 110.0), (55, 150.0))
    made = by_level(campaign({"none": []}, metric="nopm", extra_runs=[one]))
    assert [(level.variant, level.metrics["nopm"]) for level in made.runs] == [
        ({factor: "none", USERS: 34}, 105.0),
        ({factor: "none", USERS: 55}, 150.0),
    ]
    assert [level.seconds for level in made.runs] == [30.0, 30.0]
    assert [[s.number for s in level.steps] for level in made.runs] == [[0, 1, 2], [3]]
    assert made.study["loads"][USERS] == "users"
    assert by_level(made) is made


def test_a_failed_run_failed_at_every_level(
    driven: Driven, run: Callable[..., Run], campaign: Callable[..., Campaign], factor: str
) -> None:
    runs = [driven("none", 1, (2, 100.0), (4, 150.0)), run({factor: "none"}, 2, None)]
    made = by_level(campaign({"none": []}, metric="nopm", extra_runs=runs))
    assert [(level.round, level.ok, level.variant[USERS]) for level in made.runs] == [
        (1, True, 2), (1, True, 4), (2, False, 2), (2, False, 4),
    ]  # fmt: skip


def test_a_campaign_without_sequences_stays_as_it_is(campaign: Callable[..., Campaign]) -> None:
    made = campaign({"none": [1.0], "cache": [2.0]}, metric="nopm")
    assert by_level(made) is made


def test_a_level_has_the_samples_and_the_activity_of_its_steps(tmp_path: Path) -> None:
    driven = (step(0, 2, 7.0, discarded=True), step(1, 2, 1.0), step(2, 4, 2.0), step(3, 2, 3.0))
    one = Run("a", {}, 1, 1, "ok", {}, directory=tmp_path, steps=driven)
    seconds = [float(second) for second in range(48)]
    for file, columns in (("samples.parquet", record.SAMPLES), ("activity.parquet", record.ACTIVITY)):
        of_kind = {"String": "x", "Boolean": False}
        filled = {name: [of_kind.get(kind, 1)] * 48 for name, kind in columns.items()}
        filled["phase"] = ["ramp" if file[0] == "a" else "measure"] * 48
        record.frame({**filled, "t_s": seconds}, columns).write_parquet(tmp_path / file)
    first = replace(one, steps=tuple(s for s in one.steps if s.users == 2), of_level=True)
    samples, activity = first.samples(), first.activity()
    assert samples is not None
    assert activity is not None
    assert samples.height == activity.height == 20, "two steps of 10 s; the discarded one has none"
    assert samples["t_s"].to_list() == activity["t_s"].to_list() == [float(second) for second in range(20)]
    assert set(activity["phase"]) == {"measure"}
    assert first.histograms() is None
    whole = one.samples()
    assert isinstance(whole, pl.DataFrame)
    assert whole.height == 48


def test_equal_steps_at_different_levels_are_steady_each_by_itself(tmp_path: Path) -> None:
    equal = tuple(step(number, 2, 1.0) for number in (1, 2))
    level = Run("a", {USERS: 2}, 1, 1, "ok", {}, directory=tmp_path, steps=equal, of_level=True)
    count = 20 * 10
    texts = {"phase": ["measure"] * count, "node": ["workload"] * count, "op": ["transaction"] * count}
    filled = {name: texts.get(name, [None] * count) for name in record.SAMPLES}
    rates = [100 + place % 3 for place in range(count // 2)] + [200 + place % 3 for place in range(count // 2)]
    times = {"t_s": [place / 10 for place in range(count)], "seconds": [0.1] * count, "count": rates}
    record.frame({**filled, **times}, record.SAMPLES).write_parquet(tmp_path / "samples.parquet")
    state = steady_state(level)
    assert state is not None
    assert (state.steady, state.change_points_s) == (True, ())
    assert max(map(abs, state.thirds)) < 0.01
    whole = steady_state(replace(level, steps=(replace(equal[0], samples_s=(0.0, 20.0)),)))
    assert whole is not None
    assert not whole.steady, "what it would be as one stretch"


def test_the_report_compares_levels_and_shows_every_step(driven: Driven, campaign: Callable[..., Campaign]) -> None:
    runs = [
        driven(
            level,
            number,
            (34, 100.0 * better + number),
            (34, 102.0 * better),
            (55, 150.0 * better),
            (89, 170.0 * better),
        )
        for level, better in (("none", 1.0), ("cache", 2.0))
        for number in (1, 2, 3)
    ]
    made = campaign({"none": [], "cache": []}, metric="nopm", compare={"rounds": 3}, extra_runs=runs)
    result = analyse(made)
    (comparison,) = result.comparisons
    assert comparison.averaged == ({USERS: 34}, {USERS: 55}, {USERS: 89})
    assert comparison.ratio is not None
    assert comparison.ratio.value == pytest.approx(2.0, rel=0.02)
    document = build(result, made)
    tables = {table.name: table for table in document.tables()}
    assert len(tables["sequence"].rows) == 6 * 5
    assert [row[-1].text for row in tables["sequence"].rows].count("discarded") == 6
    order = [(row[1].value, row[2].value) for row in tables["sequence"].rows]
    assert order == [(number, place) for _ in range(2) for number in (1, 2, 3) for place in range(5)]
    rows = tables["improvement"].rows
    assert [row[0].text for row in rows] == ["34 users", "55 users", "89 users", "geometric mean", "mean (Cpi)"]
    charts = {chart.name: chart for chart in document.charts()}
    for name in ("improvement-load", "improvement-values"):
        charts[name].draw()
    assert "users" in charts["improvement-values"].alt


def test_activity_of_an_earlier_build_is_read_as_what_it_means(tmp_path: Path) -> None:
    rows = [
        {"t_s": 0.0, "seconds": 0.5, "phase": "measure", "source": source, "measure": measure, "value": 1.0}
        for source, measure in (("driver", "cpu_s"), ("place data", "reads"), ("waits my db", "IO WALSync"))
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "activity.parquet")
    activity = Run("a", {}, 1, 1, "ok", {}, directory=tmp_path).activity()
    assert activity is not None
    assert activity.select("kind", "name", "instance", "measure").rows() == [
        ("driver", "", "", "cpu_s"),
        ("place", "data", "", "reads"),
        ("waits", "my db", "IO WALSync", "sessions"),
    ]
