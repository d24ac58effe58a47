"""The promises of the verdicts, by simulation: false alarms at most 5 %, equivalence found with the planned power."""

from __future__ import annotations

import numpy as np
import pytest
from planned_rounds import detection_power, log_sd, rounds_to_detect, rounds_to_prove

from fathom.analysis.compare import ALPHA, EQUIVALENCE_ALPHA, family_levels
from fathom.analysis.interval import Floats, mean_interval, t_interval
from fathom.analysis.looks import DEFAULT_LOOKS, nominal_alpha
from fathom.analysis.model import Verdict
from fathom.analysis.verdict import classify

SEED = 20_260_402
DIFFERENT = [Verdict.FASTER, Verdict.SLOWER, Verdict.FASTER_SMALL, Verdict.SLOWER_SMALL]


def log_ratios(campaigns: int, rounds: int, cv: float, *, correlation: float = 0.0, ratio: float = 1.0) -> Floats:
    """Log ratios of two log-normal variants whose runs of one round share part of their noise."""
    rng = np.random.default_rng(SEED)
    own = rng.standard_normal((2, campaigns, rounds)) * np.sqrt(1 - correlation)
    shared = rng.standard_normal((campaigns, rounds)) * np.sqrt(correlation)
    variant, baseline = (own + shared) * log_sd(cv)
    return np.asarray(variant - baseline + np.log(ratio))


def verdicts(logs: Floats, margin: float, alpha: float = ALPHA, equal_alpha: float = EQUIVALENCE_ALPHA) -> np.ndarray:
    """What `compare` decides for each campaign."""
    ratio = mean_interval(logs, 1 - alpha, SEED)
    equal = mean_interval(logs, 1 - 2 * equal_alpha, SEED)
    return classify(
        point=ratio.mean,
        low=ratio.low,
        high=ratio.high,
        equal_low=equal.low,
        equal_high=equal.high,
        margin=margin,
    )


@pytest.mark.parametrize("cv", [0.02, 0.05])
def test_noise_alone_is_called_faster_or_slower_in_at_most_five_per_cent(cv: float) -> None:
    found = verdicts(log_ratios(100_000, 5, cv), margin=0.02)
    rate = float(np.isin(found, [Verdict.FASTER, Verdict.SLOWER]).mean())
    assert rate <= 0.05, f"{rate}, seed {SEED}"


@pytest.mark.parametrize("cv", [0.02, 0.05])
def test_noise_alone_is_called_any_difference_in_five_per_cent(cv: float) -> None:
    """The small differences count too; the test is exact, so the rate is 5 % and neither more nor less."""
    rate = float(np.isin(verdicts(log_ratios(100_000, 5, cv), margin=0.02), DIFFERENT).mean())
    assert rate == pytest.approx(0.05, abs=0.003), f"seed {SEED}"


def false_alarm_at_any_look(logs: Floats, looks: tuple[int, ...], alpha: float, *, bootstrap: bool) -> np.ndarray:
    alarms = np.zeros(len(logs), dtype=bool)
    for n in looks:
        seen = logs[:, :n]
        found = mean_interval(seen, 1 - alpha, SEED) if bootstrap else t_interval(seen, 1 - alpha)
        alarms |= (found.low > 0) | (found.high < 0)
    return alarms


def test_four_looks_together_raise_false_alarms_in_at_most_five_per_cent() -> None:
    """The rate with the bootstrap at 20 is that of t on many campaigns, plus the difference of the two on few."""
    alpha = nominal_alpha(DEFAULT_LOOKS, ALPHA)
    many = log_ratios(200_000, DEFAULT_LOOKS[-1], 0.05)
    with_t = false_alarm_at_any_look(many, DEFAULT_LOOKS, alpha, bootstrap=False)
    few = many[:3_000]
    with_bootstrap = false_alarm_at_any_look(few, DEFAULT_LOOKS, alpha, bootstrap=True)
    rate = float(with_t.mean() + with_bootstrap.mean() - with_t[: len(few)].mean())
    assert rate <= 0.05, f"{rate}, seed {SEED}"
    assert rate >= 0.04, f"needlessly strict: {rate}, seed {SEED}"


def test_looking_without_paying_would_not_do() -> None:
    logs = log_ratios(50_000, DEFAULT_LOOKS[-1], 0.05)
    assert false_alarm_at_any_look(logs, DEFAULT_LOOKS, ALPHA, bootstrap=False).mean() > 0.10
    assert false_alarm_at_any_look(logs, DEFAULT_LOOKS, 0.0182, bootstrap=False).mean() > 0.05


def test_four_looks_together_call_a_difference_of_the_margin_equivalent_in_at_most_five_per_cent() -> None:
    margin = 0.02
    equal_alpha = nominal_alpha(DEFAULT_LOOKS, 2 * EQUIVALENCE_ALPHA) / 2
    logs = log_ratios(100_000, DEFAULT_LOOKS[-1], 0.01, ratio=1 + margin)
    alarms = np.zeros(len(logs), dtype=bool)
    for n in DEFAULT_LOOKS:
        found = t_interval(logs[:, :n], 1 - 2 * equal_alpha)
        alarms |= (found.low > -np.log1p(margin)) & (found.high < np.log1p(margin))
    assert alarms.mean() <= 0.05, f"{alarms.mean()}, seed {SEED}"


PLANS = [(0.02, 0.02, 0.7), (0.02, 0.03, 0.7), (0.05, 0.05, 0.7), (0.05, 0.02, 0.0), (0.02, 0.02, 0.0)]


@pytest.mark.parametrize(("margin", "cv", "correlation"), PLANS)
def test_equivalence_is_found_with_the_planned_power(margin: float, cv: float, correlation: float) -> None:
    """At the planned rounds 80 % of equal pairs are shown equal; the 5 % that are called different come off that."""
    rounds = rounds_to_prove(margin, cv, correlation=correlation)
    found = verdicts(log_ratios(20_000, rounds, cv, correlation=correlation), margin)
    rate = float((found == Verdict.EQUIVALENT).mean())
    assert rate >= 0.75, f"{rate} at {rounds} rounds, seed {SEED}"
    one_fewer = log_ratios(20_000, rounds - 1, cv, correlation=correlation)
    assert rounds == 3 or (verdicts(one_fewer, margin) == Verdict.EQUIVALENT).mean() < 0.80, f"seed {SEED}"


@pytest.mark.parametrize(("margin", "cv", "correlation"), PLANS)
def test_a_difference_of_the_margin_is_called_equivalent_in_at_most_five_per_cent(
    margin: float, cv: float, correlation: float
) -> None:
    rounds = rounds_to_prove(margin, cv, correlation=correlation)
    logs = log_ratios(20_000, rounds, cv, correlation=correlation, ratio=1 + margin)
    rate = float((verdicts(logs, margin) == Verdict.EQUIVALENT).mean())
    assert rate <= 0.053, f"{rate}, seed {SEED}"


def test_a_difference_is_found_with_the_planned_power() -> None:
    rounds = rounds_to_detect(0.05, 0.05, correlation=0.7)
    found = verdicts(log_ratios(20_000, rounds, 0.05, correlation=0.7, ratio=1.05), margin=0.02)
    rate = float(np.isin(found, [Verdict.FASTER, Verdict.FASTER_SMALL]).mean())
    assert rate >= 0.80, f"{rate} at {rounds} rounds, seed {SEED}"
    planned = detection_power(rounds, 0.05, 0.05, correlation=0.7)
    assert rate == pytest.approx(planned, abs=0.01), f"{rate} at {rounds} rounds, seed {SEED}"


def test_three_variants_together_raise_false_alarms_in_at_most_five_per_cent() -> None:
    """All three share the baseline's runs, so their ratios are correlated; Holm holds for that too."""
    rng = np.random.default_rng(SEED)
    campaigns, false_alarms = 1_500, 0
    for values in rng.standard_normal((campaigns, 4, 5)) * log_sd(0.05):
        logs = [values[i] - values[0] for i in (1, 2, 3)]
        levels = family_levels(logs, ALPHA, SEED)
        intervals = [t_interval(one, 1 - level) for one, level in zip(logs, levels, strict=True)]
        false_alarms += any(found.low > 0 or found.high < 0 for found in intervals)
    assert false_alarms / campaigns <= 0.05, f"{false_alarms} of {campaigns}, seed {SEED}"
