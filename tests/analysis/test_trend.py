"""Series at the scatter of real runs: false verdicts stay at 5 %, and what fluctuates is no longer refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from analysis.conftest import COMPARE
from fathom.analysis.compare import compare_all
from fathom.analysis.interval import Floats
from fathom.analysis.model import RATE, SteadyState, Verdict
from fathom.analysis.rules import rules_of
from fathom.analysis.series import Series
from fathom.analysis.steady import judge, thirds_of
from fathom.analysis.trend import trend_between, trend_of
from fathom.results import Run

FACTOR = "workload.transaction"
SEED = 20_261_123
SECONDS = 40
CAMPAIGNS = 100

Shape = Callable[[np.random.Generator], Floats]


def level(rng: np.random.Generator) -> Floats:
    return np.ones(SECONDS) + 0.05 * rng.standard_normal(SECONDS)


def periodic(rng: np.random.Generator) -> Floats:
    """Checkpoints: a wave of 25 s whose phase is chance."""
    return level(rng) * (1 + 0.35 * np.sin(2 * np.pi * (np.arange(SECONDS) / 25 + rng.random())))


def bursty(rng: np.random.Generator) -> Floats:
    """Convoys of locks: two levels with a mean stay of 5 s."""
    state = np.cumsum(rng.random(SECONDS) < 0.2) % 2 ^ int(rng.random() < 0.5)
    return level(rng) * np.where(state, 1.3, 0.7)


def shifting(rng: np.random.Generator) -> Floats:
    """A neighbour that comes or goes: in half of the runs one step of 20 %."""
    step = np.where(np.arange(SECONDS) < rng.integers(5, SECONDS - 5), 1.0, rng.choice([0.8, 1.25]))
    return level(rng) * (step if rng.random() < 0.5 else 1.0)


def warming(rng: np.random.Generator) -> Floats:
    """A cache that fills: 30 % too slow at first, with a time constant of half a run; in the long run 1."""
    return level(rng) * (1 - 0.3 * np.exp(-np.arange(SECONDS) / (SECONDS / 2)))


def spending(rng: np.random.Generator) -> Floats:
    """Burst credits that run out at 40 to 60 % of the run; in the long run 1."""
    end = SECONDS * rng.uniform(0.4, 0.6)
    return level(rng) * np.where(np.arange(SECONDS) < end, 1.4, 1.0)


def decide(variant: Shape, baseline: Shape, rng: np.random.Generator, rounds: int, cv: float) -> tuple[Verdict, bool]:
    """The verdict on one campaign of equal long-run rates, and whether the old rule called a side unsteady."""
    runs: list[Run] = []
    steady: dict[str, SteadyState] = {}
    for number in range(1, rounds + 1):
        for name, shape in (("a", baseline), ("b", variant)):
            rates = 1000 * np.exp(cv * rng.standard_normal()) * np.maximum(shape(rng), 0.05)
            run = Run(f"{name}-{number}", {FACTOR: name}, number, 1, "ok", {"iops": float(rates.mean())})
            state = judge(run.id, Series(RATE, rates, 1.0))
            assert state is not None
            runs.append(run)
            steady[run.id] = state
    compare = {**COMPARE, "metric": "iops", "baseline": {FACTOR: "a"}, "margin": 0.05, "rounds": rounds}
    study = {"compare": compare}
    rules = rules_of(study)
    assert rules is not None
    (found,) = compare_all(
        runs, rules, study=study, steady=steady, overloaded=(), loads=(), reserves={}, seen=(), virtual=False, seed=SEED
    )
    sides = [[steady[run.id] for run in runs if run.variant[FACTOR] == name] for name in ("a", "b")]
    return found.verdict, any(2 * sum(not state.steady for state in side) > len(side) for side in sides)


def shares(variant: Shape, baseline: Shape, rounds: int, cv: float) -> tuple[float, float, float]:
    """Shares of campaigns with a false difference, refused, and with a side that the old rule called unsteady."""
    rng = np.random.default_rng(SEED)
    found = [decide(variant, baseline, rng, rounds, cv) for _ in range(CAMPAIGNS)]
    false = [v not in (Verdict.UNDECIDED, Verdict.EQUIVALENT, Verdict.NOT_COMPARABLE) for v, _ in found]
    refused = [v is Verdict.NOT_COMPARABLE for v, _ in found]
    return float(np.mean(false)), float(np.mean(refused)), float(np.mean([old for _, old in found]))


CHANCE = 0.05 + 1.64 * (0.05 * 0.95 / CAMPAIGNS) ** 0.5
"""What a share of 5 % may come to by chance in so many campaigns, one-sided 5 %."""


@pytest.mark.parametrize("rounds", [3, 5])
@pytest.mark.parametrize("shape", [periodic, bursty, shifting])
def test_fluctuation_makes_no_false_verdict_and_is_seldom_refused(shape: Shape, rounds: int) -> None:
    false, refused, old = shares(shape, shape, rounds, 0.05)
    assert false <= CHANCE, f"{false}, seed {SEED}"
    assert refused <= 0.10, f"{refused}, seed {SEED}"
    if shape is not shifting:
        assert old >= 0.9, f"the old rule held this against {old} of the campaigns, seed {SEED}"


@pytest.mark.parametrize("rounds", [3, 5])
@pytest.mark.parametrize("cv", [0.03, 0.10])
@pytest.mark.parametrize("shape", [warming, spending])
def test_a_trend_of_one_variant_makes_no_false_verdict(shape: Shape, cv: float, rounds: int) -> None:
    false, _, _ = shares(shape, level, rounds, cv)
    assert false <= CHANCE, f"{false}, seed {SEED}"


def test_a_trend_that_both_share_is_not_refused() -> None:
    false, refused, _ = shares(warming, warming, 5, 0.05)
    assert false <= CHANCE
    assert refused <= 0.25


def test_a_trend_is_carried_on_to_where_it_ends() -> None:
    rng = np.random.default_rng(SEED)
    states = {}
    for name, shape in (("warm", warming), ("level", level)):
        made = [thirds_of(1000 * shape(rng)) for _ in range(5)]
        states[name] = {
            n: SteadyState(f"{name}{n}", 0.0, True, (), (), thirds=thirds, error=error)
            for n, (thirds, error) in enumerate(made)
        }
    found = trend_between(states["warm"], states["level"])
    assert found is not None
    # The mean of a run is 13 % below the long run.
    assert found.shift == pytest.approx(0.14, abs=0.08)
    assert trend_of(list(states["level"].values())) is None
