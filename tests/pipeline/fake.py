"""An engine that answers at once, an observer that writes down what it is told, and a study to plan."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fathom.engine import core
from fathom.plan import Plan, PlannedRun

STUDY = """\
title = "One transaction per row, or one for all?"
question = "Is it worth it?"

[workload]
kind = "insert"
rows = 1000

[factors]
"workload.transaction" = ["per-row", "whole-batch"]
"workload.page_size" = [4096, 8192, 16384]

[compare]
metric = "rows_per_second"
baseline = { "workload.transaction" = "per-row" }
rounds = 3

[quick]
"workload.rows" = 10
"""


class RunFailed(Exception):
    """The engine's own."""


class FakeEngine:
    """Answers every run at once; `fail` may turn a run (by its overrides) into a failure or an interrupt."""

    RunFailed = RunFailed
    BadInput = ValueError
    failure = RunFailed

    def __init__(self, fail: Callable[[dict[str, Any], int], BaseException | None] | None = None) -> None:
        self.fail = fail or (lambda _overrides, _call: None)
        self.calls: list[dict[str, Any]] = []
        self.wants: dict[str, Any] = {"databases": {}, "places": {}, "volumes": {}, "loads": {}}

    def check(self, *arguments: Any) -> Any:
        found = core().check(*arguments)
        for variant in (found["study"] or {"variants": ()})["variants"]:
            variant["wants"] = self.wants
        return found

    def run(self, entry_json: str, scratch: Path, tick: Any, databases_json: str = "{}") -> dict[str, Any]:
        entry = json.loads(entry_json)
        overrides, clock, seed = entry["set"], entry["clock"], entry["seed"]
        self.calls.append({**entry, "scratch": str(scratch)})
        Path(scratch, "database").write_bytes(b"x" * 100)
        tick(0.5, "half")
        problem = self.fail(overrides, len(self.calls))
        if problem is not None:
            raise problem
        rate = 1000.0 + seed % 97 + 100 * (overrides.get("workload.transaction") == "whole-batch")
        return {
            "metrics": {"rows_per_second": rate, "latency_ms": float("nan")},
            "samples": one_sample(rate),
            "histograms": one_bucket(),
            "volumes": {"workload": {"kind": "insert", "outstanding_mean": 1.0}},
            "facts": {"sqlite": "3"},
            "measured_ns": 2_000_000_000,
            "began_ns": None,
            "waits": {},
            "steps": [],
            "digest": "ab" * 8 if clock == "virtual" else None,
            "events": 10 if clock == "virtual" else None,
        }

    def build_facts(self) -> dict[str, str]:
        return {"version": "0", "commit": "none", "profile": "test"}


def one_sample(rate: float) -> dict[str, list[Any]]:
    """One row of samples."""
    latencies = tuple(f"latency_{word}_ns" for word in ("mean", "p50", "p99", "p999", "p9999", "max"))
    numbers = (*latencies, "waiting_mean_ns")
    words = {"phase": ["measure"], "node": ["workload"], "op": ["transaction"]}
    return {
        "t_s": [0.0],
        "seconds": [1.0],
        **words,
        "count": [int(rate)],
        "bytes": [8192],
        **{name: [1000.0] for name in numbers},
        "outstanding_mean": [1.0],
    }


def one_bucket() -> dict[str, list[Any]]:
    """One row of histograms."""
    return {"node": ["workload"], "op": ["transaction"], "measure": ["latency"], "low": [1], "high": [2], "count": [3]}


class Notes:
    """Writes down what an observer is told; `stop_at` raises KeyboardInterrupt at the n-th progress call."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.stop_at = stop_at
        self.ticks = 0
        self.finished_before: int | None = None
        self.ended: list[tuple[str, str | None]] = []
        self.gave_up: list[tuple[int, int]] = []

    def campaign(self, plan: Plan, finished: int) -> None:
        self.finished_before = finished

    def run_begins(self, run: PlannedRun) -> None:
        self.begun = run.id

    def progress(self, run: PlannedRun, share: float, words: str) -> None:
        self.ticks += 1
        if self.ticks == self.stop_at:
            raise KeyboardInterrupt

    def run_ends(self, run: PlannedRun, seconds: float, failure: str | None) -> None:
        self.ended.append((run.id, failure))

    def gives_up(self, failed: int, left: int) -> None:
        self.gave_up.append((failed, left))
