"""The knee of a load table is found with its interval, and not where the table does not show one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.analysis.analyse import analyse
from fathom.analysis.interval import Floats
from fathom.analysis.knee import find_knee, fit_bounds
from fathom.analysis.load import LoadTable, load_tables
from fathom.results import Campaign, Run

LOADS = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])


def table(loads: Floats, rates: Floats, latencies: Floats | None = None) -> LoadTable:
    known = 1e3 * loads / rates if latencies is None else latencies
    return LoadTable("workload.users", {}, "iops", loads, rates, known)


def with_volumes(volumes: dict[str, Any]) -> dict[str, Any]:
    """A resolved study in which every variant has these volumes."""
    return {"variants": [{"levels": {}, "settings": {"volumes": volumes}}]}


def capped(loads: Floats, floor_ms: float, ceiling: float) -> Floats:
    """Rates of a system that is a pure delay up to a hard ceiling."""
    return np.minimum(1e3 * loads / floor_ms, ceiling)


@settings(deadline=None)
@given(st.floats(0.05, 20), st.floats(3, 60))
def test_exact_bounds_are_found_exactly(floor_ms: float, n_star: float) -> None:
    ceiling = 1e3 * n_star / floor_ms
    found = fit_bounds(LOADS, capped(LOADS, floor_ms, ceiling))
    assert found is not None
    assert (1e3 / found.slope, found.ceiling) == pytest.approx((floor_ms, ceiling))
    assert found.n_star == pytest.approx(n_star)


def test_one_wild_run_hardly_moves_the_bounds() -> None:
    loads = np.repeat(LOADS, 5)
    rates = capped(loads, 0.5, 20_000)
    rates[7] /= 10
    found = fit_bounds(loads, rates)
    assert found is not None
    assert found.n_star == pytest.approx(10.0, rel=0.02)


def test_users_with_several_requests_each_keep_their_own_latency() -> None:
    """Four requests per user: the knee is told in users, the floor in ms of one request."""
    rates = np.minimum(4e3 * LOADS, 32_000)
    latencies = np.maximum(1.0, 1e3 * 4 * LOADS / 32_000)
    knee = find_knee(table(LOADS, rates, latencies), {}, 1)
    assert knee is not None
    assert knee.service_floor_ms.value == pytest.approx(1.0)
    assert knee.n_star.value == pytest.approx(8.0)


def test_a_table_that_ends_before_the_knee_has_none() -> None:
    assert fit_bounds(LOADS, 1e3 * LOADS) is None
    assert find_knee(table(LOADS, 1e3 * LOADS), {}, 1) is None


def test_a_table_that_starts_beyond_the_knee_has_none(run: Callable[..., Run]) -> None:
    """Four servers of 1 ms, loads from 8 on: the knee would be the lowest load, and the floor its waiting time."""
    loads = np.repeat([8.0, 16, 32, 64, 128], 3)
    rates = capped(loads, 1.0, 4_000) * np.tile([0.998, 1.0, 1.003], 5)
    assert find_knee(table(loads, rates), {}, 1) is None
    assert find_knee(table(loads / 8, rates), {}, 1) is not None, "of one alone nobody waits"
    runs = [
        run({"workload.users": int(load)}, n, {"iops": rate, "latency_ms": 1e3 * load / rate})
        for n, (load, rate) in enumerate(zip(loads, rates, strict=True), 1)
    ]
    study = {"title": "T", "question": "Q", "loads": {"workload.users": "users"}}
    found = analyse(Campaign(Path("nowhere"), study, "", 7, "virtual", tuple(runs), len(runs)))
    assert found.headline.startswith(
        "It is already saturated at the lowest load tried (8 users): 4,000 IOPS at 2.00 ms"
    )
    (told,) = (one for one in found.findings if one.rule == "saturation")
    assert told.remedies[0].action.startswith("Try fewer than 8 users")


def test_without_any_latency_there_is_no_knee() -> None:
    unknown = table(LOADS, capped(LOADS, 1.0, 8_000), np.full(len(LOADS), np.nan))
    assert find_knee(unknown, {}, 1) is None


def test_intervals_hold_the_truth() -> None:
    """Runs with 3 % noise, five per load: N* = 16 lies within its interval in about 95 % of the tables."""
    rng = np.random.default_rng(1)
    loads = np.repeat(LOADS, 5)
    held = 0
    for _ in range(6):
        rates = capped(loads, 1.0, 16_000) * np.exp(0.03 * rng.standard_normal(len(loads)))
        knee = find_knee(table(loads, rates), {}, 2)
        assert knee is not None
        held += knee.n_star.low <= 16.0 <= knee.n_star.high
    assert held >= 5


def test_the_limit_that_was_met_is_named() -> None:
    rates = capped(LOADS, 1.0, 3_000)
    assert (knee := find_knee(table(LOADS, rates), with_volumes({"ebs": {"iops": 3_000}}), 1)) is not None
    assert knee.bottleneck == "volumes.ebs.iops = 3,000"
    adapter = with_volumes({"hba": [{"device_depth": 32}]})
    deep = find_knee(table(LOADS, capped(LOADS, 1.0, 32_000)), adapter, 1)
    assert deep is not None
    assert deep.bottleneck == "volumes.hba.0.device_depth = 32"
    assert find_knee(table(LOADS, rates), with_volumes({"ebs": {"iops": 9_000}}), 1).bottleneck is None  # type: ignore[union-attr]


def test_one_run_per_load_has_no_interval() -> None:
    knee = find_knee(table(LOADS, capped(LOADS, 1.0, 16_000)), {}, 1)
    assert knee is not None
    assert not knee.n_star.has_interval


def test_load_tables_are_split_by_the_other_factors(run: Callable[..., Run]) -> None:
    runs = [
        run({"workload.users": users, "volumes.a.kind": kind}, n, {"iops": users * scale, "latency_ms": 1e3 / scale})
        for users in (1, 2, 4)
        for kind, scale in (("x", 100.0), ("y", 200.0))
        for n in (1, 2)
    ]
    tables = load_tables(runs, {"loads": {"workload.users": "users"}}, "latency_ms")
    assert [found.variant for found in tables] == [{"volumes.a.kind": "x"}, {"volumes.a.kind": "y"}]
    assert tables[1].loads.tolist() == [1, 1, 2, 2, 4, 4]
    assert tables[1].latencies.tolist() == [5.0] * 6
    assert {found.metric for found in tables} == {"iops"}


def test_settings_of_volumes_are_no_load(run: Callable[..., Run]) -> None:
    runs = [run({"volumes.adapter.depth": depth}, 1, {"iops": 100.0}) for depth in (32, 64, 256)]
    assert load_tables(runs, {"loads": {}}, "iops") == ()


def test_bootstrap_samples_keep_every_load_and_draw_within_it() -> None:
    loads = np.array([1.0, 2.0, 2.0, 4.0, 4.0, 4.0])
    table = LoadTable("load", {}, "iops", loads, 10 * loads, loads)
    drawn = table.resampled(np.random.default_rng(1), 200)
    assert (loads[drawn] == loads).all()
    assert len({tuple(row) for row in drawn[:, 3:].tolist()}) == 27, "every sample of three runs comes up"
