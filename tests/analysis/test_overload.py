"""Whether a load was too much, of runs with few requests: arrivals are random, and so is the latency of twenty."""

from __future__ import annotations

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
