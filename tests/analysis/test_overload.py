"""Whether a load was too much, of runs with few requests: arrivals are random, and so is the latency of twenty."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.conftest import FACTOR, make_run, stated
from fathom.analysis.overload import overloads
from fathom.results import Run

_SECONDS = 60


def _study(rate: float) -> dict[str, Any]:
    return {"variants": [stated({FACTOR: "a"}, demand={"rate": rate})]}


def _run(seed: int, rate: float, servers: int, service_s: float) -> Run:
    """A queue with random arrivals and a service time of which a twentieth of the requests has twenty times as much."""
    rng = np.random.default_rng(seed)
    arrivals = np.sort(rng.uniform(0, _SECONDS, rng.poisson(rate * _SECONDS)))
    service = service_s / 1.95 * np.where(rng.random(len(arrivals)) < 0.05, 20.0, 1.0)
    free, ends = [0.0] * servers, []
    for arrival, needs in zip(arrivals, service, strict=True):
        first = free.index(min(free))
        free[first] = max(arrival, free[first]) + needs
        ends.append(free[first])
    done = np.array(ends)
    rows = []
    for second in range(_SECONDS):
        inside = (done >= second) & (done < second + 1)
        latency = float((done - arrivals)[inside].mean()) * 1e9 if inside.any() else None
        rows.append(
            {"t_s": float(second), "seconds": 1.0, "phase": "measure", "node": "workload", "op": "read",
             "count": int(inside.sum()), "bytes": 0, "latency_mean_ns": latency, "outstanding_mean": 1.0}
        )  # fmt: skip
    metrics = {
        "iops": float((done < _SECONDS).sum()) / _SECONDS,
        "arrivals_per_second": len(arrivals) / _SECONDS,
        "elapsed_s": float(_SECONDS),
    }
    return make_run({FACTOR: "a"}, 1, metrics, samples=pl.DataFrame(rows))


@pytest.mark.parametrize("rate", [2.0, 5.0])
def test_a_volume_that_is_good_for_hundreds_a_second_sustains_a_few(rate: float) -> None:
    over = [seed for seed in range(60) if overloads([_run(seed, rate, 8, 0.01)], _study(rate), [])]
    assert over == []


def test_a_queue_that_grows_is_found_in_as_few_requests() -> None:
    over = [seed for seed in range(60) if overloads([_run(seed, 2.0, 1, 0.9)], _study(2.0), [])]
    assert len(over) >= 54


def test_fewer_arrivals_than_the_rate_are_no_shortfall() -> None:
    rows = [
        {"t_s": float(second), "seconds": 1.0, "phase": "measure", "node": "workload", "op": "read",
         "count": 95, "bytes": 0, "latency_mean_ns": 1e6 * (1 + second), "outstanding_mean": 1.0}
        for second in range(30)
    ]  # fmt: skip
    run = make_run({FACTOR: "a"}, 1, {"iops": 95.0, "arrivals_per_second": 95.0}, samples=pl.DataFrame(rows))
    assert overloads([run], _study(100.0), []) == ()
    run.metrics["arrivals_per_second"] = 100.0
    (found,) = overloads([run], _study(100.0), [])
    assert found.sentence.startswith("a cannot sustain 100/s: it does 95")


def test_a_phase_of_few_arrivals_may_have_fewer_than_its_rate() -> None:
    phases = [{"name": "quiet", "duration": "30s", "rate": 2.0}]
    demands = [{"name": "quiet", "demand": {"rate": 2.0}}]
    settings = {"workload": {"kind": "io", "phases": phases}}
    study = {"variants": [stated({FACTOR: "a"}, settings=settings, demand=None, phases=demands)]}
    rows = [
        {"t_s": float(second), "seconds": 1.0, "phase": "measure", "node": "workload", "op": "read",
         "count": 1 if second % 5 else 4, "bytes": 0, "latency_mean_ns": 1e6 * (1 + second), "outstanding_mean": 1.0}
        for second in range(30)
    ]  # fmt: skip
    assert overloads([make_run({FACTOR: "a"}, 1, {"iops": 1.6}, samples=pl.DataFrame(rows))], study, []) == ()


def _transactions(done: float, latencies: list[float], **metrics: float) -> Run:
    """Transactions over intervals of 1 s with these latencies, ms."""
    rows = [
        {"t_s": float(second), "seconds": 1.0, "phase": "measure", "node": "workload", "op": "transaction",
         "count": round(done), "bytes": 0, "latency_mean_ns": latency * 1e6, "outstanding_mean": 0.04}
        for second, latency in enumerate(latencies)
    ]  # fmt: skip
    metrics["transactions_per_second"] = done
    run = make_run({FACTOR: "a"}, 1, metrics, samples=pl.DataFrame(rows))
    return replace(run, measured_s=float(len(latencies)))


@pytest.mark.parametrize("seconds", [4, 15])
def test_transactions_whose_arrivals_nobody_counted_may_be_fewer_by_chance(seconds: int) -> None:
    # 134 arrivals in 15 s at 10/s, as one seed draws them; all were done.
    run = _transactions(134 / 15, [4.0] * seconds)
    assert overloads([run], _study(10.0), []) == ()


def test_far_fewer_transactions_than_the_rate_are_an_overload_only_where_their_latency_grows() -> None:
    falling = _transactions(50.0, [9.0 - second / 2 for second in range(15)])
    assert overloads([falling], _study(100.0), []) == ()
    growing = _transactions(50.0, [500.0 * (second + 1) for second in range(15)])
    (found,) = overloads([growing], _study(100.0), [])
    assert (found.done, found.waiting) == (50.0, 0.0)


def test_transactions_under_way_at_the_end_of_a_short_run_are_no_queue() -> None:
    counted = {"arrivals_per_second": 10.0, "backlog_max": 2.0, "backlog_end": 0.0}
    assert overloads([_transactions(9.5, [40.0] * 4, **counted)], _study(10.0), []) == ()
    waits = counted | {"arrivals_per_second": 20.0, "backlog_end": 42.0}
    (found,) = overloads([_transactions(9.5, [40.0] * 4, **waits)], _study(20.0), [])
    assert found.sentence == "a cannot sustain 20/s: it does 9.5; 42 arrivals still wait at the end"


def test_a_queue_that_was_long_before_the_measured_phase_is_found_by_what_waits() -> None:
    # A ramp of a minute at 10 % too much: in the 15 s after it the latency grows by a fifth only.
    latencies = [6000.0 + 100.0 * second for second in range(15)]
    run = _transactions(90.0, latencies, arrivals_per_second=100.0, backlog_max=750.0, backlog_end=750.0)
    assert [found.waiting for found in overloads([run], _study(100.0), [])] == [750.0]


def test_where_nothing_arrived_nothing_was_too_much() -> None:
    """At 0.05/s for 30 s that is one run in five."""
    counted = {"iops": 0.0, "arrivals_per_second": 0.0, "backlog_max": 0.0, "backlog_end": 0.0}
    assert overloads([make_run({FACTOR: "a"}, 1, counted)], _study(0.05), []) == ()
