"""Runs that settle pass, runs that do not are told apart by reason, at one second and at a tenth of one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.analysis.interval import Floats
from fathom.analysis.model import RATE
from fathom.analysis.series import FEWEST_SAMPLES, VOLUME_TRAFFIC, Series, measured_series, series_of
from fathom.analysis.steady import judge, long_run_variance, steady_state, warm_up
from fathom.results import Run

SEED = 9
LENGTHS = [(30, 1.0), (60, 1.0), (300, 1.0), (100, 0.1), (600, 0.1)]


def noise(rng: np.random.Generator, count: int, cv: float, correlation: float = 0.0) -> Floats:
    """Relative noise around 1; autoregressive of order one."""
    draws = rng.standard_normal(count)
    for index in range(1, count):
        draws[index] = correlation * draws[index - 1] + np.sqrt(1 - correlation**2) * draws[index]
    return 1 + cv * draws


def share_steady(series: Callable[[], Floats], interval_s: float, count: int = 100) -> float:
    found = [judge("r", Series(RATE, series(), interval_s)) for _ in range(count)]
    return float(np.mean([state is not None and state.steady for state in found]))


@pytest.mark.parametrize(("count", "interval_s"), LENGTHS)
@pytest.mark.parametrize(("cv", "correlation"), [(0.02, 0.0), (0.05, 0.0), (0.05, 0.5)])
def test_a_level_run_passes(count: int, interval_s: float, cv: float, correlation: float) -> None:
    rng = np.random.default_rng(SEED)
    assert share_steady(lambda: 1000 * noise(rng, count, cv, correlation), interval_s) >= 0.90


@pytest.mark.parametrize(("count", "interval_s"), LENGTHS)
def test_burst_credits_that_run_out_are_found(count: int, interval_s: float) -> None:
    rng = np.random.default_rng(SEED)
    level = np.where(np.arange(count) < 0.6 * count, 3000.0, 1500.0)
    state = judge("r", Series(RATE, level * noise(rng, count, 0.03), interval_s))
    assert state is not None
    assert not state.steady
    assert state.excursion > 0.2
    assert any(abs(at - 0.6 * count * interval_s) <= 0.1 * count * interval_s for at in state.change_points_s)


@pytest.mark.parametrize(("count", "interval_s"), [(60, 1.0), (300, 1.0), (600, 0.1)])
def test_a_slow_rise_is_found(count: int, interval_s: float) -> None:
    rng = np.random.default_rng(SEED)
    rise = 1000 * (1 + 0.15 * np.arange(count) / count)
    assert share_steady(lambda: rise * noise(rng, count, 0.02), interval_s, 40) <= 0.1


@pytest.mark.parametrize(("count", "interval_s"), [(60, 1.0), (300, 1.0), (600, 0.1)])
def test_warm_up_is_cut_and_its_effect_on_the_mean_is_told(count: int, interval_s: float) -> None:
    rng = np.random.default_rng(SEED)
    curve = 1000 * (1 - 0.6 * np.exp(-np.arange(count) / (0.05 * count)))
    state = judge("r", Series(RATE, curve * noise(rng, count, 0.02), interval_s))
    assert state is not None
    assert state.steady, state.reasons
    assert 0.08 <= state.cut_s / (count * interval_s) <= 0.35
    assert state.warm_up_bias == pytest.approx(-0.03, abs=0.012)


def test_warm_up_that_never_ends_is_not_steady() -> None:
    rng = np.random.default_rng(SEED)
    curve = 1000 * (1 - 0.6 * np.exp(-np.arange(120) / 60))
    state = judge("r", Series(RATE, curve * noise(rng, 120, 0.02), 1.0))
    assert state is not None
    assert not state.steady
    assert any("warmed up" in reason for reason in state.reasons)


def test_spread_beyond_five_per_cent_of_ten_seconds_is_not_steady() -> None:
    rng = np.random.default_rng(SEED)
    state = judge("r", Series(RATE, 1000 * np.maximum(0.05, noise(rng, 600, 0.4)), 1.0))
    assert state is not None
    assert any("varied" in reason for reason in state.reasons)


def test_a_change_below_two_per_cent_is_not_held_against_a_run() -> None:
    level = np.where(np.arange(300) < 200, 1000.0, 1010.0)
    state = judge("r", Series(RATE, level, 1.0))
    assert state is not None
    assert (state.steady, state.change_points_s) == (True, ())


def test_a_constant_series_is_steady_from_the_start() -> None:
    state = judge("r", Series(RATE, np.full(100, 5000.0), 0.1))
    assert state is not None
    assert (state.cut_s, state.steady, state.excursion, state.warm_up_bias) == (0.0, True, 0.0, 0.0)


def test_short_or_idle_series_are_not_judged() -> None:
    assert judge("r", Series(RATE, np.full(FEWEST_SAMPLES - 1, 100.0), 1.0)) is None
    assert judge("r", Series(RATE, np.zeros(100), 1.0)) is None


@settings(deadline=None, max_examples=150)
@given(st.lists(st.floats(0, 1e6), min_size=FEWEST_SAMPLES, max_size=80), st.floats(1e-3, 1e3))
def test_any_series_gets_an_answer_that_does_not_depend_on_the_unit(rates: list[float], unit: float) -> None:
    values = np.array(rates)
    if not values.mean() > 1e-3:
        return
    cut = warm_up(values)
    assert 0 <= cut <= len(values) / 2
    assert long_run_variance(values) >= 0
    plain = judge("r", Series(RATE, values, 1.0))
    assert plain is not None
    assert plain.steady == (not plain.reasons)
    assert all(0 <= at <= len(values) for at in plain.change_points_s)


def samples(rows: list[tuple[float, float, str, str, str, int]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["t_s", "seconds", "phase", "node", "op", "count"], orient="row")


def test_series_is_what_the_user_sees_in_the_measured_phase(run: Callable[..., Run]) -> None:
    frame = samples(
        [
            (-1.0, 1.0, "ramp", "workload", "read", 7),
            (0.0, 1.0, "measure", "workload", "read", 60),
            (0.0, 1.0, "measure", "workload", "write", 40),
            (0.0, 1.0, "measure", "workload", "flush", 9),
            (0.0, 1.0, "measure", "data", "read", 999),
            (1.0, 1.0, "measure", "workload", "read", 50),
            (2.0, 0.2, "measure", "workload", "read", 1),
        ]
    )
    found = measured_series(run({"a": 1}, 1, {"iops": 1.0}, samples=frame))
    assert found is not None
    assert found[0].tolist() == [100.0, 50.0]
    assert found[1] == 1.0


def test_series_counts_transactions_where_there_are_any(run: Callable[..., Run]) -> None:
    frame = samples(
        [(0.0, 0.5, "measure", "workload", "transaction", 8), (0.0, 0.5, "measure", "workload", "write", 99)]
    )
    found = measured_series(run({"a": 1}, 1, {"iops": 1.0}, samples=frame))
    assert found is not None
    assert found[0].tolist() == [16.0]


def test_volume_traffic_is_judged_per_transaction_not_by_the_rate(run: Callable[..., Run]) -> None:
    # The rate halves, and with it what the volume moves; hosts are observed half a second off.
    rates = [200] * 20 + [100] * 20
    moved = [float(rate * 64 * 1024) for rate in [rates[0], *rates]]
    frame = samples([(float(t), 1.0, "measure", "workload", "transaction", rate) for t, rate in enumerate(rates)])
    activity = pl.DataFrame(
        {
            "t_s": [t - 0.5 for t in range(41)] * 2,
            "seconds": [1.0] * 82,
            "kind": ["place"] * 82,
            "measure": ["read_bytes"] * 41 + ["write_bytes"] * 41,
            "value": [*moved, *(half / 2 for half in moved)],
        }
    )
    shrinking = run({"a": 1}, 1, {"place_kib_per_transaction": 96.0}, samples=frame, activity=activity)
    assert "the rate" in steady_state(shrinking, "nopm").reasons[0]  # type: ignore[union-attr]
    series = series_of(shrinking, "place_kib_per_transaction")
    assert series is not None
    assert series.what == VOLUME_TRAFFIC
    assert np.delete(series.values, 20) == pytest.approx(96.0)
    state = steady_state(shrinking, "place_kib_per_transaction")
    assert state is not None
    assert abs(state.thirds[2] - state.thirds[0]) < 0.01
    without = run({"a": 1}, 1, {"place_kib_per_transaction": 96.0}, samples=frame)
    assert series_of(without, "place_kib_per_transaction").what == "the rate"  # type: ignore[union-attr]


def test_a_run_without_samples_is_not_judged(run: Callable[..., Run]) -> None:
    assert steady_state(run({"a": 1}, 1, {"iops": 1.0})) is None
