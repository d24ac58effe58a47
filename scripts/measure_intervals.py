"""Measures what METHODOLOGY.md states about intervals and verdicts, and prints its tables.

    python scripts/measure_intervals.py

It calls the functions that make verdicts, on many simulated campaigns; about two minutes on one core. The same
promises, on fewer campaigns, are kept by tests/analysis/test_coverage.py and test_error_rates.py.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from planned_rounds import difference_sd, log_sd, rounds_to_prove

from fathom.analysis.compare import ALPHA, EQUIVALENCE_ALPHA
from fathom.analysis.interval import BOOTSTRAP_FROM, Floats, bca_interval, mean_interval, t_interval
from fathom.analysis.looks import DEFAULT_LOOKS, nominal_alpha
from fathom.analysis.verdict import classify

SEED = 20_260_403
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Log ratios of log-normal runs with a coefficient of variation of 5 %."""
    return rng.standard_normal(shape) * log_sd(0.05) * np.sqrt(2)


def slow_rounds(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """2 % noise, and 15 % of the rounds 20 % slower; the mean is taken off."""
    return 0.02 * rng.standard_normal(shape) - 0.2 * ((rng.random(shape) < 0.15) - 0.15)


def skewed(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Exponential log ratios: skewness 2; the mean is taken off."""
    return 0.05 * (rng.exponential(size=shape) - 1)


def covered(interval: Callable[[Floats], tuple[Floats, Floats, Floats]], logs: Floats) -> float:
    """Share of campaigns whose interval holds the truth, 0."""
    _, low, high = interval(logs)
    return float(((low <= 0) & (high >= 0)).mean())


def coverage_table() -> None:
    """Coverage of a nominal 95 % by rounds, method and distribution."""
    print("| rounds | log-normal: t / BCa | slow rounds: t / BCa | skewed: t / BCa |\n|---|---|---|---|")
    for rounds in (3, 5, 8, 12, 19, 20, 30, 50):
        cells = []
        for draw in (normal, slow_rounds, skewed):
            rng = np.random.default_rng(SEED)
            by_t = covered(lambda x: t_interval(x, 0.95), draw(rng, (50_000, rounds)))
            by_bca = covered(lambda x: bca_interval(x, 0.95, SEED), draw(rng, (4_000, rounds)))
            bold = ("**{:.3f}** / {:.3f}", "{:.3f} / **{:.3f}**")[rounds >= BOOTSTRAP_FROM]
            cells.append(bold.format(by_t, by_bca))
        print(f"| {rounds} | {' | '.join(cells)} |", flush=True)


def verdict_table() -> None:
    """Verdicts on pairs that do not differ, five rounds, margin 2 %."""
    print("\n| CV | faster or slower | small difference | equivalent | undecided |\n|---|---|---|---|---|")
    for cv in (0.01, 0.02, 0.05):
        logs = np.random.default_rng(SEED).standard_normal((200_000, 5)) * difference_sd(cv, 0.0)
        found = verdicts(logs, 0.02)
        groups = (("faster", "slower"), ("faster, but small", "slower, but small"), ("equivalent",), ("undecided",))
        shares = [f"{100 * np.isin(found, group).mean():.1f} %" for group in groups]
        print(f"| {100 * cv:.0f} % | {' | '.join(shares)} |", flush=True)


def equivalence_table() -> None:
    """Equal pairs at the planned rounds, and pairs that differ by exactly the margin."""
    print(
        "\n| margin | CV | correlation | rounds | found equivalent | called so at the margin |\n"
        "|---|---|---|---|---|---|"
    )
    for margin, cv, correlation in ((0.02, 0.02, 0.7), (0.02, 0.03, 0.7), (0.05, 0.05, 0.7), (0.02, 0.02, 0.0)):
        rounds = rounds_to_prove(margin, cv, correlation=correlation)
        noise = np.random.default_rng(SEED).standard_normal((50_000, rounds)) * difference_sd(cv, correlation)
        shares = [float((verdicts(noise + shift, margin) == "equivalent").mean()) for shift in (0.0, np.log1p(margin))]
        cells = f"{margin:.0%} | {cv:.0%} | {correlation} | {rounds} | {shares[0]:.1%} | {shares[1]:.1%}"
        print(f"| {cells.replace('%', ' %')} |", flush=True)


def looks_lines() -> None:
    """False alarms over four looks, by the level of each."""
    paths = np.random.default_rng(SEED).standard_normal((400_000, DEFAULT_LOOKS[-1]))
    print(f"\nfalse alarms over looks at {DEFAULT_LOOKS}:")
    for words, alpha in (("unpaid", 0.05), ("Pocock", 0.0182), ("used", nominal_alpha(DEFAULT_LOOKS, ALPHA))):
        alarms = np.zeros(len(paths), dtype=bool)
        few = np.zeros(8_000, dtype=bool)
        for n in DEFAULT_LOOKS:
            alarms |= outside(t_interval(paths[:, :n], 1 - alpha))
            few |= outside(mean_interval(paths[: len(few), :n], 1 - alpha, SEED))
        with_bootstrap = alarms.mean() + few.mean() - alarms[: len(few)].mean()
        print(
            f"  {words}: level {alpha:.4f}, t {alarms.mean():.4f}, with the bootstrap at 20 {with_bootstrap:.4f}",
            flush=True,
        )
    print(f"  equivalence: one-sided level {nominal_alpha(DEFAULT_LOOKS, 2 * EQUIVALENCE_ALPHA) / 2:.4f}")


def outside(interval: tuple[Floats, Floats, Floats]) -> np.ndarray:
    """Whether the interval leaves out 0."""
    return np.asarray((interval[1] > 0) | (interval[2] < 0))


def verdicts(logs: Floats, margin: float) -> np.ndarray:
    """What `compare` decides for each campaign."""
    ratio, equal = mean_interval(logs, 1 - ALPHA, SEED), mean_interval(logs, 1 - 2 * EQUIVALENCE_ALPHA, SEED)
    return classify(
        point=ratio.mean, low=ratio.low, high=ratio.high, equal_low=equal.low, equal_high=equal.high, margin=margin
    )


if __name__ == "__main__":
    coverage_table()
    verdict_table()
    equivalence_table()
    looks_lines()
