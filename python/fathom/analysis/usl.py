"""Universal Scalability Law X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1)) (Gunther 1993).

Divided through, N / X is a straight line in (1, N - 1, N (N - 1)) with coefficients (1, alpha, beta) / gamma, none
negative. So the fit is a non-negative least squares problem; weighting each run by X / N makes its residuals relative
errors of X. Intervals are percentiles of a bootstrap over runs. The law through three points can be unphysical, so
four loads are asked for; N_max is only given where the interval of beta leaves out zero.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fathom.analysis.interval import Floats
from fathom.analysis.knee import fit_bounds, starts_beyond
from fathom.analysis.load import LoadTable
from fathom.analysis.model import Estimate, ScalabilityFit
from fathom.analysis.words import number

LEVEL = 0.95
FEWEST_LOADS = 4
_RESAMPLES = 500
_FLAT = 0.05


class Law(NamedTuple):
    """The three coefficients: gamma in the unit of X, alpha (contention) and beta (coherency) without one."""

    gamma: float
    alpha: float
    beta: float

    def throughput(self, loads: Floats) -> Floats:
        """X at the given loads."""
        return np.asarray(self.gamma * loads / (1 + self.alpha * (loads - 1) + self.beta * loads * (loads - 1)))


def fit_law(loads: Floats, rates: Floats) -> Law | None:
    """The law that fits a table of loads and rates with least squared relative error; None for no such law."""
    (found,) = fit_laws(loads, rates[None, :])
    return Law(*map(float, found)) if np.isfinite(found).all() else None


def fit_laws(loads: Floats, rates: Floats) -> Floats:
    """The laws of many tables with the same loads: one row of (gamma, alpha, beta) for each row of rates, NaN for none.

    Least squares with coefficients that may not be negative: of the four sets of coefficients that can be other than
    zero (gamma always is), the best whose solution has no negative one.
    """
    design = np.column_stack((np.ones_like(loads), loads - 1, loads * (loads - 1)))
    weighted = design * (rates / loads)[:, :, None]
    # Columns of equal length keep the solver's tolerances meaningful: N (N - 1) is large.
    scale = np.sqrt((weighted**2).sum(axis=1))
    usable = (scale > 0).all(axis=1)
    scaled = weighted / np.where(scale > 0, scale, 1.0)[:, None, :]
    best, least = np.full((len(rates), 3), np.nan), np.full(len(rates), np.inf)
    for free in ([0, 1, 2], [0, 1], [0, 2], [0]):
        columns = scaled[:, :, free]
        found = np.linalg.pinv(columns) @ np.ones((len(rates), len(loads), 1))
        misfit = ((columns @ found - 1) ** 2).sum(axis=(1, 2))
        better = usable & (found[:, :, 0] >= 0).all(axis=1) & (found[:, 0, 0] > 0) & (misfit < least)
        least = np.where(better, misfit, least)
        solution = np.zeros((len(rates), 3))
        solution[:, free] = found[:, :, 0]
        best[better] = (solution / np.where(scale > 0, scale, 1.0))[better]
    return np.column_stack((1 / best[:, 0], best[:, 1] / best[:, 0], best[:, 2] / best[:, 0]))


def fit_scalability(table: LoadTable, seed: int) -> ScalabilityFit | None:
    """The law's fit to a table of four or more loads, with intervals."""
    if len(table.levels) < FEWEST_LOADS:
        return None
    law = fit_law(table.loads, table.rates)
    if law is None:
        return None
    rng = np.random.default_rng(seed)
    laws = fit_laws(table.loads, table.rates[table.resampled(rng, _RESAMPLES)])
    laws = laws[np.isfinite(laws).all(axis=1)]

    def estimate(value: float, column: int) -> Estimate:
        if len(table.loads) == len(table.levels):
            return Estimate(value, value, value, 0.0, len(table.loads), "one run per load, no interval")
        low, high = np.quantile(laws[:, column], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return Estimate(value, float(low), float(high), LEVEL, len(table.loads), "percentile bootstrap over runs")

    beta = estimate(law.beta, 2)
    cap = _explained_by_cap(table, law)
    # A curve with a cap bends only at the cap: its beta is an artefact of the formula.
    turning = beta.has_interval and beta.low > 0 and cap is None and law.alpha < 1
    return ScalabilityFit(
        load_factor=table.factor,
        gamma=estimate(law.gamma, 0),
        alpha=estimate(law.alpha, 1),
        beta=beta,
        n_max=math.sqrt((1 - law.alpha) / law.beta) if turning else None,
        r_squared=_r_squared(table.rates, law.throughput(table.loads)),
        note=cap,
        variant=table.variant,
        metric=table.metric,
    )


def _explained_by_cap(table: LoadTable, law: Law) -> str | None:
    """The note "cap, not contention" where straight growth up to a hard ceiling fits at least as well as the law."""
    bounds = fit_bounds(table.loads, table.rates)
    if bounds is None or starts_beyond(table.loads, bounds.n_star):
        return None
    on_top = table.rates[table.loads > bounds.n_star]
    flat = len(np.unique(table.loads[table.loads > bounds.n_star])) >= 2 and np.ptp(on_top) <= _FLAT * on_top.mean()
    if not flat or _misfit(table.rates, bounds.rate(table.loads)) > _misfit(table.rates, law.throughput(table.loads)):
        return None
    return (
        f"cap, not contention: growth is straight up to {number(bounds.n_star)} and then stays at "
        f"{number(bounds.ceiling)}; alpha and beta only mimic the cap"
    )


def _misfit(rates: Floats, fitted: Floats) -> float:
    """Root mean squared relative error."""
    return float(np.sqrt(((fitted / rates - 1) ** 2).mean()))


def _r_squared(rates: Floats, fitted: Floats) -> float:
    total = float(((rates - rates.mean()) ** 2).sum())
    return 1 - float(((rates - fitted) ** 2).sum()) / total if total > 0 else 1.0
