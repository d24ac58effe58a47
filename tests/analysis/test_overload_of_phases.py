"""A load with phases is too much in one of them: the mean over phases is a load that nobody offered."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from analysis.conftest import FACTOR, make_run, stated
from fathom.analysis.overload import overloads

PHASES = (("night", 60, 500.0), ("peak", 20, 4000.0), ("after", 20, 500.0))


def study() -> dict[str, Any]:
    phases = [{"name": name, "duration": f"{length}s", "rate": rate} for name, length, rate in PHASES]
    demands = [{"name": name, "demand": {"rate": rate}} for name, _, rate in PHASES]
    settings = {"workload": {"kind": "io", "phases": phases}}
    return {"variants": [stated({FACTOR: "a"}, settings=settings, demand=None, phases=demands)]}


def run(done: dict[str, float], growth: float) -> Any:
    rows, start = [], 0
    for name, length, _ in PHASES:
        for second in range(length):
            latency = 1e6 * (1 + (growth - 1) * second / length) if name == "peak" else 1e6
            rows.append(
                {"t_s": float(start + second), "seconds": 1.0, "phase": "measure", "node": "workload", "op": "read",
                 "count": int(done[name]), "bytes": 0, "latency_mean_ns": latency, "outstanding_mean": 1.0}
            )  # fmt: skip
        start += length
    mean = sum(done[name] * length for name, length, _ in PHASES) / start
    metrics = {"iops": mean, "arrivals_per_second": 1200.0, "elapsed_s": float(start)}
    return make_run({FACTOR: "a"}, 1, metrics, samples=pl.DataFrame(rows))


def test_the_worst_phase_is_told() -> None:
    (found,) = overloads([run({"night": 500, "peak": 3000, "after": 1500}, 20.0)], study(), [])
    assert found.sentence == "a cannot sustain 4,000/s in phase peak: it does 3,000"
    assert (found.offered, found.done, found.phase) == (4000.0, 3000.0, "peak")


@pytest.mark.parametrize(("peak", "growth"), [(4000, 1.0), (3990, 5.0)])
def test_a_load_that_every_phase_does_is_none(peak: float, growth: float) -> None:
    assert overloads([run({"night": 500, "peak": peak, "after": 500}, growth)], study(), []) == ()
