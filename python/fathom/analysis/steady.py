"""Did a run settle? Warm-up cut by MSER-5, level changes by PELT, slope and spread of interval means.

A rate series is cut where the mean of the rest is known best (MSER: White, Simulation 69, 1997; batches of five: White,
Cobb and Spratt, Winter Simulation Conference 2000), at most half of it. The rest is averaged into bins of about 10 s
and must show no level change in its last 60 % (PELT: Killick, Fearnhead and Eckley, JASA 107, 2012), no slope and
little spread. Short runs get shorter bins. What is below 2 % of the mean, or within the noise, is never held against a
run; the noise allows for neighbouring samples being alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fathom.analysis.interval import Floats
from fathom.analysis.model import SteadyState
from fathom.results import Run

FEWEST_SAMPLES = 16
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


def steady_state(run: Run) -> SteadyState | None:
    """The verdict on a finished run's measured phase; None if it left no samples or too few to judge."""
    series = measured_series(run)
    return None if series is None else judge(run.id, *series)


def measured_series(run: Run) -> tuple[Floats, float] | None:
    """Rate per interval of what the user sees in the measured phase (1/s), and the interval's length in s.

    Transactions are counted where there are any, otherwise reads and writes; the last interval is left out if it was
    cut short.
    """
    import polars as pl

    frame = run.samples()
    if frame is None or frame.height == 0:
        return None
    node = "workload" if (frame["node"] == "workload").any() else frame["node"][0]
    rows = frame.filter((pl.col("phase") == "measure") & (pl.col("node") == node))
    operations = ["transaction"] if (rows["op"] == "transaction").any() else ["read", "write"]
    counted = pl.when(pl.col("op").is_in(operations)).then(pl.col("count")).otherwise(0)
    rates = (
        rows.with_columns(counted.alias("wanted"))
        .group_by("t_s")
        .agg(pl.col("wanted").sum(), pl.col("seconds").max())
        .sort("t_s")
    )
    if rates.height == 0:
        return None
    seconds = rates["seconds"].to_numpy().astype(np.float64)
    interval_s = float(np.median(seconds))
    whole = seconds > 0.5 * interval_s
    return rates["wanted"].to_numpy().astype(np.float64)[whole] / seconds[whole], interval_s


def judge(run_id: str, rates: Floats, interval_s: float) -> SteadyState | None:
    """The verdict on a series of rates at equal intervals; None below FEWEST_SAMPLES or without any activity."""
    if len(rates) < FEWEST_SAMPLES or not rates.mean() > 0:
        return None
    cut = warm_up(rates)
    if not rates[cut:].mean() > 0:
        reason = f"nothing happens any more after {cut * interval_s:.3g} s"
        return SteadyState(run_id, cut * interval_s, False, (reason,), (), excursion=1.0)
    bins = _binned(rates[cut:], interval_s)
    changes, step = level_changes(bins)
    slope = _slope(bins)
    spread = float(bins.means.std(ddof=1) / bins.means.mean())
    allowed = min(_SPREAD_AT_MOST, _SPREAD * max(1.0, (BIN_S / bins.width_s) ** 0.5))
    warming = _still_warming(rates, cut)

    found: list[tuple[str, float]] = []
    if warming:
        text = f"still warming up at half of the run: the level then moves on by {abs(warming):.1%}"
        found.append((text, abs(warming)))
    if changes and len(bins.means) - changes[-1] < _LAST_SEGMENT * len(bins.means):
        found.append((f"the level changes by {step:.1%} and the last level lasts under 60 % of the window", step))
    if slope:
        found.append((f"the rate {'rises' if slope > 0 else 'falls'} by {abs(slope):.1%} over the window", abs(slope)))
    if spread > allowed:
        text = f"means of {bins.width_s:.3g} s vary by {spread:.1%}; up to {allowed:.1%} is steady"
        found.append((text, spread / len(bins.means) ** 0.5))
    return SteadyState(
        run_id=run_id,
        cut_s=cut * interval_s,
        steady=not found,
        reasons=tuple(text for text, _ in found),
        change_points_s=tuple((cut * interval_s) + change * bins.width_s for change in changes),
        excursion=max((size for _, size in found), default=0.0),
        warm_up_bias=_warm_up_bias(rates, cut),
    )


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
    """Indices of bins where the level changes, and the largest relative step; PELT with a BIC penalty.

    A change costs two parameters (its place and its level) of log(bins) times the noise variance each; the factor 1.5
    keeps false changes rare on short series. Steps below MATERIAL are dropped.
    """
    from ruptures import Pelt

    means = bins.means
    if len(means) < 2 * _BINS_PER_SEGMENT or np.ptp(means) <= MATERIAL * means.mean():
        return (), 0.0
    variance = max(bins.noise**2, (1e-6 * float(means.mean())) ** 2)
    penalty = 1.5 * 2 * variance * np.log(len(means))
    found = Pelt(model="l2", min_size=_BINS_PER_SEGMENT, jump=1).fit(means).predict(pen=penalty)[:-1]
    edges = [0, *found, len(means)]
    levels = [float(means[a:b].mean()) for a, b in pairwise(edges)]
    steps = [_relative(new, old) for old, new in pairwise(levels)]
    kept = [(at, step) for at, step in zip(found, steps, strict=True) if step >= MATERIAL]
    return tuple(at for at, _ in kept), max((step for _, step in kept), default=0.0)


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


def _warm_up_bias(rates: Floats, cut: int) -> float:
    """Mean of everything over the mean after the cut, minus 1; 0 where noise explains it."""
    if cut == 0:
        return 0.0
    early, rest = float(rates[:cut].mean()), float(rates[cut:].mean())
    error = (long_run_variance(rates[cut:]) * (1 / cut + 1 / (len(rates) - cut))) ** 0.5
    return float(rates.mean()) / rest - 1 if abs(early - rest) > _CERTAIN * error and rest > 0 else 0.0


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
