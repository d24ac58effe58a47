"""What is told where the compared metric gives no verdict: a rate that the arrivals fix, rounds too few to judge."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from analysis.conftest import FACTOR, make_campaign, make_run, stated
from fathom.analysis.analyse import analyse
from fathom.analysis.beside import differing
from fathom.analysis.model import Analysis, Verdict
from fathom.report.verdicts import words
from fathom.results import Campaign

LOSS = {"volumes.cached.may_lose": "the loss of the cache device takes the last 30 s"}


def campaign(
    cached: dict[str, float], *, rounds: int = 3, rate: float | None = 2400.0, metric: str = "iops", **study: Any
) -> Campaign:
    """A plain volume and one with a cache that differs in `cached`; an open loop of `rate`, or a closed loop."""
    plain = {"iops": 2400.0, "latency_p99_ms": 5.0, "read_latency_p99_ms": 4.7, "write_latency_p99_ms": 4.6}
    runs = [
        make_run({FACTOR: name}, number, {key: value * (1 + 0.001 * ((number * 7) % 3)) for key, value in of.items()})
        for name, of in (("plain", plain), ("cached", plain | cached))
        for number in range(1, rounds + 1)
    ]
    runs = [dataclasses.replace(r, facts=LOSS) if r.variant[FACTOR] == "cached" else r for r in runs]
    demand = {"rate": rate} if rate is not None else {"users": 8, "pauses": True}
    variants = [stated({FACTOR: name}, demand=demand) for name in ("plain", "cached")]
    empty: dict[str, list[float | None]] = {"plain": [], "cached": []}
    compare = {"rounds": rounds}
    return make_campaign(empty, metric=metric, compare=compare, study={"variants": variants, **study}, extra_runs=runs)


def advice(found: Analysis) -> list[str]:
    return [remedy.action for finding in found.findings for remedy in finding.remedies]


def test_a_rate_that_the_arrivals_fix_tells_no_variants_apart() -> None:
    found = analyse(campaign({"write_latency_p99_ms": 0.1}))
    (comparison,) = found.comparisons
    assert comparison.verdict is Verdict.FIXED
    assert "the arrivals fix the I/O rate" in found.headline
    assert "write p99 latency is 46 × lower (0.100 against 4.60 ms)" in found.headline
    assert "may lose data" in found.headline
    assert "equivalent" not in found.headline
    (fixed,) = (finding for finding in found.findings if finding.rule == "fixed-rate")
    assert fixed.remedies[0].commands == ('compare.metric = "latency_p99_ms"',)
    assert not any(action.startswith(("Prefer", "Choose")) for action in advice(found))


def test_of_a_fixed_rate_more_rounds_are_no_advice() -> None:
    found = analyse(campaign({"read_latency_p99_ms": 60.0}, rounds=1))
    assert found.comparisons[0].more_rounds is None
    assert "in the one round that ran, read p99 latency was 12.8 × higher (60.1 against 4.70 ms)" in found.headline
    assert not any("more" in action for action in advice(found))
    assert words(found.comparisons[0]).startswith("fixed by the arrivals, but read p99 latency 12.8 × worse")


@pytest.mark.parametrize(
    ("cached", "rate", "metric", "verdict"),
    [
        ({}, None, "iops", Verdict.EQUIVALENT),
        ({"latency_p99_ms": 9.0}, 2400.0, "latency_p99_ms", Verdict.SLOWER),
        ({"iops": 2300.0}, 2400.0, "iops", Verdict.OVERLOADED),
    ],
    ids=["a closed loop", "a latency", "a side that falls behind"],
)
def test_elsewhere_the_verdict_is_the_usual_one(
    cached: dict[str, float], rate: float | None, metric: str, verdict: Verdict
) -> None:
    # Ratios that agree exactly are no measurement in real time.
    found = analyse(dataclasses.replace(campaign(cached, rate=rate, metric=metric), clock="virtual"))
    assert found.comparisons[0].verdict is verdict


def test_one_round_shows_a_large_difference_beside_the_metric_as_an_observation() -> None:
    found = analyse(campaign({"read_latency_p99_ms": 60.0, "latency_p99_ms": 6.0}, rounds=1, rate=None))
    (comparison,) = found.comparisons
    assert comparison.verdict is Verdict.UNDECIDED
    assert [guard.metric for guard in differing(comparison)] == ["read_latency_p99_ms"], "1.2 x alone is not told"
    observed = "in the one round that ran, read p99 latency was 12.8 × higher (60.1 against 4.70 ms)"
    assert f"(one round, no interval), but {observed}; one round is too few" in found.headline
    (undecided,) = (finding for finding in found.findings if finding.rule == "undecided")
    assert any(observed in evidence.sentence for evidence in undecided.evidence)
    assert words(comparison).startswith("undecided, too few rounds, but read p99 latency 12.8 × worse")


def test_with_rounds_enough_an_undecided_comparison_tells_certain_differences() -> None:
    runs = campaign({"read_latency_p99_ms": 60.0}, rate=None)
    noisy = {1: 0.9, 2: 1.15, 3: 1.0}
    runs = dataclasses.replace(
        runs,
        runs=tuple(
            dataclasses.replace(r, metrics={**r.metrics, "iops": 2400.0 * noisy[r.round]})
            if r.variant[FACTOR] == "cached"
            else r
            for r in runs.runs
        ),
    )
    found = analyse(runs)
    assert found.comparisons[0].verdict is Verdict.UNDECIDED
    assert "but read p99 latency is 12.8 × higher (60.1 against 4.70 ms)" in found.headline


def test_what_got_worse_is_told_before_more_below() -> None:
    runs = [
        make_run({FACTOR: name}, 1, {"iops": 1000.0, "latency_p99_ms": p99})
        for name, p99 in (("plain", 5.0), ("a", 5.0), ("b", 5.0), ("c", 5.0), ("d", 50.0))
    ]
    empty: dict[str, list[float | None]] = {name: [] for name in ("plain", "a", "b", "c", "d")}
    found = analyse(make_campaign(empty, compare={"rounds": 1}, extra_runs=runs))
    assert "p99 latency was 10.0 × higher (50.0 against 5.00 ms)" in found.headline
    assert "1 more below" in found.headline


def test_a_gain_beside_what_points_the_same_way_is_no_objection() -> None:
    gain = {"read_latency_p99_ms": 0.4, "latency_p99_ms": 5.0}
    faster = analyse(campaign({"iops": 4800.0, **gain}, rounds=1, rate=None))
    assert faster.comparisons[0].verdict is Verdict.UNDECIDED
    gained = "in the one round that ran, read p99 latency was 11.8 × lower"
    assert f"(one round, no interval), and {gained}" in faster.headline
    slower = analyse(campaign({"iops": 1200.0, **gain}, rounds=1, rate=None))
    assert f"(one round, no interval), but {gained}" in slower.headline
    mixed = analyse(campaign({"iops": 4800.0, **gain, "write_latency_p99_ms": 60.0}, rounds=1, rate=None))
    assert "(one round, no interval), but in the one round that ran, write p99 latency was" in mixed.headline
