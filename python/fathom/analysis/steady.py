"""Was a run level? Warm-up cut by MSER-5, level changes by least squares, slope and spread of interval means.

A rate series is cut where the mean of the rest is known best (MSER: White, Simulation 69, 1997; batches of five:
White, Cobb and Spratt, Winter Simulation Conference 2000), at most half of it. The rest is averaged into bins of about
10 s and must show no level change in its last 60 % (optimal partitioning: Jackson et al., IEEE Signal Processing
Letters 12, 2005), no slope and little spread. Short runs get shorter bins. What is below 2 % of the mean, or within
the noise, is never held against a run; the noise allows for neighbouring samples being alike.

None of this forbids a verdict: fluctuation within runs is part of the scatter between rounds. `trend` tells what does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from fathom.analysis.interval import Floats
from fathom.analysis.model import SteadyState
from fathom.analysis.series import FEWEST_SAMPLES, Series, series_of
from fathom.analysis.words import by, percent
from fathom.results import Run

MATERIAL = 0.02
"""Relative change over the window below which a series counts as level."""

BIN_S = 10.0
FEWEST_BINS = 12
_BINS_PER_SEGMENT = 3
_LAST_SEGMENT = 0.60
_SPREAD = 0.05
_SPREAD_AT_MOST = 0.25
_CERTAIN = 3.29
"""Standard errors that count as certain within a run: two-sided 0.001 for normal noise."""

_BATCH = 5
_BATCHES_WANTED = 10


@dataclass(frozen=True)
class _Bins:
    """Means of equal stretches of a series, `width_s` each, with the standard deviation that noise gives them."""

    means: Floats
    width_s: float
    noise: float


def steady_state(run: Run, metric: str = "") -> SteadyState | None:
    """The verdict on a finished run's measured phase; None if it left no samples or too few to judge.

    A run is judged by what the study compares, where that has a series of its own, otherwise by its rate. Equal steps
    of a sequence of users are judged each by itself: how far they lie apart is scatter between repetitions.
    """
    if run.of_level and len(run.steps) > 1:
        return _of_steps(run, metric)
    found = series_of(run, metric)
    return None if found is None else judge(run.id, found)


def _of_steps(run: Run, metric: str) -> SteadyState | None:
    """What was found of every step, as that of one run: the worst of each, and means of what has a direction."""
    found: list[tuple[float, SteadyState]] = []
    before = 0.0
    for step in run.steps:
        state = steady_state(replace(run, steps=(step,)), metric)
        if state is not None:
            found.append((before, state))
        if step.samples_s is not None:
            before += step.samples_s[1] - step.samples_s[0]
    if not found:
        return None
    states = [state for _, state in found]
    worst = max(states, key=lambda state: (not state.steady, state.excursion))
    whole = [state for state in states if state.thirds]
    thirds = np.mean([state.thirds for state in whole], axis=0).tolist() if whole else ()
    return replace(
        worst,
        cut_s=max(state.cut_s for state in states),
        change_points_s=tuple(start + change for start, state in found for change in state.change_points_s),
        warm_up_bias=float(np.mean([state.warm_up_bias for state in states])),
        thirds=tuple(thirds),
        error=sum(state.error**2 for state in whole) ** 0.5 / len(whole) if whole else 0.0,
    )


def judge(run_id: str, series: Series) -> SteadyState | None:
    """The verdict on a series at equal intervals; None below FEWEST_SAMPLES or without any activity."""
    rates, interval_s, what = series.values, series.interval_s, series.what
    if len(rates) < FEWEST_SAMPLES or not rates.mean() > 0:
        return None
    cut = warm_up(rates)
    if not rates[cut:].mean() > 0:
        reason = f"nothing happens any more after {cut * interval_s:.3g} s"
        return SteadyState(run_id, cut * interval_s, False, (reason,), (), 1.0, 0.0, *thirds_of(rates), what)
    bins = _binned(rates[cut:], interval_s)
    changes, step = level_changes(bins)
    slope = _slope(bins)
    thirds, error = thirds_of(rates)
    spread = float(bins.means.std(ddof=1) / bins.means.mean())
    allowed = min(_SPREAD_AT_MOST, _SPREAD * max(1.0, (BIN_S / bins.width_s) ** 0.5))
    warming = _still_warming(rates, cut)

    found: list[tuple[str, float]] = []
    if warming:
        text = f"{what} still warmed up at half of the run: the level then moves on {by(abs(warming))}"
        found.append((text, abs(warming)))
    if changes and len(bins.means) - changes[-1] < _LAST_SEGMENT * len(bins.means):
        found.append((f"the level of {what} changes {by(step)} and the last level lasts under 60 % of the run", step))
    if slope:
        found.append((f"{what} {'rises' if slope > 0 else 'falls'} {by(abs(slope))} over the run", abs(slope)))
    if spread > allowed:
        much = percent(spread) if percent(spread) != percent(allowed) else f"more than {percent(allowed)}"
        text = f"{what} varied by {much} within the run (limit {percent(allowed)})"
        found.append((text, spread / len(bins.means) ** 0.5))
    return SteadyState(
        run_id=run_id,
        cut_s=cut * interval_s,
        steady=not found,
        reasons=tuple(text for text, _ in found),
        change_points_s=tuple((cut * interval_s) + change * bins.width_s for change in changes),
        excursion=max((size for _, size in found), default=0.0),
        warm_up_bias=_warm_up_bias(series, cut),
        thirds=thirds,
        error=error,
        what=what,
    )


def thirds_of(rates: Floats) -> tuple[tuple[float, ...], float]:
    """Log of the mean of each third over that of the whole, and the standard error of last less first.

    The error follows from the scatter of twelve batch means about their straight line, so that it holds waves and
    bursts shorter than a run. No thirds where nothing happened in one.
    """
    thirds = [float(part.mean()) for part in np.array_split(rates, 3)]
    whole = float(rates.mean())
    if min(thirds) <= 0:
        return (), 0.0
    batches = np.array([part.mean() for part in np.array_split(rates, FEWEST_BINS)]) / whole
    x = np.arange(FEWEST_BINS) - (FEWEST_BINS - 1) / 2
    rest = batches - batches.mean() - x * float(x @ batches / (x @ x))
    scatter = float(rest @ rest) / (FEWEST_BINS - 2)
    return tuple(float(np.log(third / whole)) for third in thirds), (2 * scatter / (FEWEST_BINS / 3)) ** 0.5


def warm_up(rates: Floats) -> int:
    """Samples to discard at the start by MSER, in batches of five (smaller ones for short series), at most half."""
    batch = max(1, min(_BATCH, len(rates) // _BATCHES_WANTED))
    count = len(rates) // batch
    means = rates[: count * batch].reshape(count, batch).mean(axis=1)
    kept = count - np.arange(count // 2 + 1)
    tail_sums = np.cumsum(means[::-1])[kept - 1]
    tail_squares = np.cumsum(means[::-1] ** 2)[kept - 1]
    marginal_error = (tail_squares - tail_sums**2 / kept) / kept**2
    # Rounding leaves tiny differences on a constant series; the earliest cut that is as good wins.
    best = np.flatnonzero(marginal_error <= marginal_error.min() + 1e-12 * float((means**2).max()))[0]
    return int(best) * batch


def long_run_variance(rates: Floats) -> float:
    """Variance of a sample's noise times its correlation time, such that a mean of n samples has this over n.

    From differences at lags one and two, which level changes and slopes hardly touch: for an autoregressive noise of
    order one with correlation r they have the expectations 2 s (1 - r) and 2 s (1 - r^2).
    """
    one = float((np.diff(rates) ** 2).mean())
    two = float(((rates[2:] - rates[:-2]) ** 2).mean())
    if one == 0:
        return 0.0
    r = min(max(two / one - 1, 0.0), 0.9)
    return one / 2 * (1 + r) / (1 - r) ** 2


def level_changes(bins: _Bins) -> tuple[tuple[int, ...], float]:
    """Indices of bins where the level changes, and the largest relative step; least squares with a BIC penalty.

    A change costs two parameters (its place and its level) of log(bins) times the noise variance each; the factor 1.5
    keeps false changes rare on short series. Steps below MATERIAL are dropped.
    """
    means = bins.means
    if len(means) < 2 * _BINS_PER_SEGMENT or np.ptp(means) <= MATERIAL * means.mean():
        return (), 0.0
    variance = max(bins.noise**2, (1e-6 * float(means.mean())) ** 2)
    penalty = 1.5 * 2 * variance * np.log(len(means))
    found = best_cuts(means, penalty, _BINS_PER_SEGMENT)
    edges = [0, *found, len(means)]
    levels = [float(means[a:b].mean()) for a, b in pairwise(edges)]
    steps = [_relative(new, old) for old, new in pairwise(levels)]
    kept = [(at, step) for at, step in zip(found, steps, strict=True) if step >= MATERIAL]
    return tuple(at for at, _ in kept), max((step for _, step in kept), default=0.0)


def best_cuts(values: Floats, penalty: float, shortest: int) -> list[int]:
    """Where to cut a series into levels: the least sum of squares plus `penalty` per cut, by optimal partitioning.

    Jackson et al., IEEE Signal Processing Letters 12, 2005: exact, as PELT is, which only prunes the search. On the at
    most few hundred bins of a run there is nothing to prune, and the package that has PELT takes a second to import.
    """
    count = len(values)
    sums, squares = np.concatenate([[0.0], np.cumsum(values)]), np.concatenate([[0.0], np.cumsum(values**2)])
    best = np.full(count + 1, np.inf)
    best[0] = -penalty
    before = np.zeros(count + 1, dtype=int)
    for end in range(shortest, count + 1):
        starts = np.arange(end - shortest + 1)
        spread = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / (end - starts)
        total = best[starts] + np.maximum(spread, 0.0) + penalty
        before[end] = int(np.argmin(total))
        best[end] = float(total[before[end]])
    cuts: list[int] = []
    end = int(before[count])
    while end:
        cuts.append(end)
        end = int(before[end])
    return cuts[::-1]


def _slope(bins: _Bins) -> float:
    """Relative change over the window by a straight line; 0 where it is small or where noise explains it."""
    count = len(bins.means)
    x = np.arange(count) - (count - 1) / 2
    slope = float(x @ bins.means / (x @ x))
    change = slope * (count - 1) / float(bins.means.mean())
    certain = abs(slope) > _CERTAIN * bins.noise / float(x @ x) ** 0.5
    return change if certain and abs(change) >= MATERIAL else 0.0


def _still_warming(rates: Floats, cut: int) -> float:
    """Relative difference of the second half from the quarter before it, where MSER cuts (nearly) half; else 0.

    MSER may cut half of a level series by chance, hence the look at whether the level still moved just before.
    """
    half = len(rates) // 2
    if cut < 0.9 * half:
        return 0.0
    before, after = rates[half // 2 : half], rates[half:]
    error = (long_run_variance(after) * (1 / len(before) + 1 / len(after))) ** 0.5
    change = float(after.mean() / before.mean() - 1) if before.mean() > 0 else 1.0
    certain = abs(float(after.mean() - before.mean())) > _CERTAIN * error
    return change if certain and abs(change) >= MATERIAL else 0.0


def _warm_up_bias(series: Series, cut: int) -> float:
    """Mean of everything over the mean after the cut, minus 1; 0 where noise explains it."""
    rates, weights = series.values, series.weights
    if cut == 0:
        return 0.0
    early, rest = float(rates[:cut].mean()), float(rates[cut:].mean())
    error = (long_run_variance(rates[cut:]) * (1 / cut + 1 / (len(rates) - cut))) ** 0.5
    if not (abs(early - rest) > _CERTAIN * error and rest > 0):
        return 0.0
    if weights is None:
        return float(rates.mean()) / rest - 1
    return float(np.average(rates, weights=weights) / np.average(rates[cut:], weights=weights[cut:])) - 1


def _binned(rates: Floats, interval_s: float) -> _Bins:
    """Means of about 10 s, of less where that would leave fewer than FEWEST_BINS; each holds whole samples."""
    wanted = max(FEWEST_BINS, int(len(rates) * interval_s / BIN_S))
    size = max(1, len(rates) // wanted)
    count = len(rates) // size
    # The remainder is dropped at the start, next to the warm-up.
    means = rates[len(rates) - count * size :].reshape(count, size).mean(axis=1)
    return _Bins(means, size * interval_s, (long_run_variance(rates) / size) ** 0.5)


def _relative(new: float, old: float) -> float:
    return abs(new / old - 1) if old > 0 else 1.0
