"""A goal that is met by less than the run scatters is not told as certain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fathom.analysis.analyse import analyse
from fathom.report.context import Context
from fathom.report.document import Banner, Tone
from fathom.report.sections import verdict
from fathom.results import Campaign, Run

GOAL = {"metric": "latency_p99_ms", "comparison": "<", "limit": 30.0, "text": "< 30ms"}
MakeRun = Callable[..., Run]


def samples(latencies_ms: Sequence[float]) -> pl.DataFrame:
    """A run of 4 s with 900 requests per second, at these mean latencies."""
    n = len(latencies_ms)
    return pl.DataFrame(
        {
            "t_s": [4 / n * i for i in range(n)],
            "seconds": [4 / n] * n,
            "phase": ["measure"] * n,
            "node": ["workload"] * n,
            "op": ["read"] * n,
            "count": [3600 // n] * n,
            "bytes": [4096 * 3600 // n] * n,
            "latency_mean_ns": [1e6 * value for value in latencies_ms],
        }
    )


def of_queue(scatter: float) -> list[float]:
    """Mean latencies of 40 intervals that follow one another, as those of a queue do: an autoregression of 0.9."""
    drawn = np.random.default_rng(5).standard_normal(40)
    level, found = 0.0, []
    for step in drawn:
        level = 0.9 * level + (1 - 0.81) ** 0.5 * step
        found.append(8.2 * float(np.exp(scatter * level)))
    return found


def made(run: MakeRun, p99: float, scatter: float, rounds: int = 1) -> Campaign:
    metrics = {"iops": 900.0, "latency_ms": 8.2, "latency_p99_ms": p99, "elapsed_s": 4.0}
    runs = tuple(run({}, number, metrics, samples=samples(of_queue(scatter))) for number in range(1, rounds + 1))
    study = {"title": "T", "question": "Q", "goals": [GOAL]}
    return Campaign(Path("nowhere"), study, "", 7, "virtual", runs, len(runs))


def test_a_percentile_within_the_scatter_of_its_limit_is_not_certain(run: MakeRun) -> None:
    campaign = made(run, 29.1, 0.5)
    found = analyse(campaign)
    goals = found.decision.goals
    assert goals is not None
    assert (goals.met, goals.total) == (1, 1), "it counts as met"
    ((variant, sentence),) = goals.near
    assert variant == {}
    assert sentence.startswith("p99 latency is within the scatter of the latency (± ")
    assert sentence in found.headline
    banner = next(block for block in verdict.build(Context(found, campaign)) if isinstance(block, Banner))
    assert (banner.word, banner.tone) == ("✓ goal met, within scatter", Tone.WARN)


@pytest.mark.parametrize(
    ("p99", "scatter", "rounds"), [(29.1, 0.02, 1), (9.2, 0.5, 1), (22.0, 0.5, 20), (31.0, 0.5, 1)]
)
def test_what_is_far_from_its_limit_or_level_is_told_as_it_is(
    run: MakeRun, p99: float, scatter: float, rounds: int
) -> None:
    goals = analyse(made(run, p99, scatter, rounds)).decision.goals
    assert goals is not None
    assert goals.near == ()
