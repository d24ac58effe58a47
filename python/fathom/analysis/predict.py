"""Published cells beside what was simulated or measured here, and what each model parameter was fitted to.

A cell has name, where (levels), metric (null: the one compared), value (null: a prediction alone), unit (null: the
metric's), calibrated, source and note. Every cell is reported, whether it agrees or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fathom.analysis.estimate import estimate_ratio
from fathom.analysis.model import Estimate, Prediction
from fathom.analysis.pairing import pair, values_by_round
from fathom.analysis.summarise import mean_of
from fathom.analysis.variants import Variant, label, matches, of_variant, variant_key, variants_of
from fathom.metrics import metric as metric_facts
from fathom.results import Level, Run
from fathom.units import factor

LEVEL = 0.95


def predictions(
    runs: Sequence[Run], study: Mapping[str, Any], primary: str | None, *, virtual: bool, seed: int
) -> tuple[Prediction, ...]:
    """One prediction per published cell, in the study's order.

    Raises:
        ValueError: a cell without a metric, in a study that compares none.
    """
    published = study.get("published") or {"normalise": None, "cells": ()}
    normalise = published["normalise"]
    found = []
    for cell in published["cells"]:
        metric = cell["metric"] or primary
        if metric is None:
            raise ValueError(f'published.cells, {cell["name"]}: name the metric, for example metric = "iops"')
        estimate, note = _estimate(runs, study, cell["where"], metric, normalise, virtual=virtual, seed=seed)
        found.append(_prediction(cell, metric, estimate, note, normalise))
    return tuple(found)


def _prediction(
    cell: Mapping[str, Any], metric: str, estimate: Estimate | None, note: str | None, normalise: str | None
) -> Prediction:
    own_unit = "" if normalise else metric_facts(metric).unit
    unit = own_unit if cell["unit"] is None else str(cell["unit"])
    value = cell["value"]
    if estimate is not None and unit != own_unit:
        scale = factor(own_unit, unit)
        if scale is None:
            note = f"{metric} is measured in {own_unit or 'plain numbers'}, which cannot be written in {unit or 'none'}"
            estimate = None
        else:
            estimate = _scaled(estimate, scale)
    error = estimate.value / value - 1 if estimate is not None and value else None
    return Prediction(
        cell=cell["name"],
        metric=metric,
        unit=unit,
        published=value,
        predicted=estimate,
        relative_error=error,
        calibrated=cell["calibrated"],
        source=cell["source"],
        note=note or cell["note"],
    )


def _estimate(
    runs: Sequence[Run],
    study: Mapping[str, Any],
    where: Mapping[str, Level],
    metric: str,
    normalise: str | None,
    *,
    virtual: bool,
    seed: int,
) -> tuple[Estimate | None, str | None]:
    """The cell's value from the one variant it names, or why there is none."""
    chosen = [variant for variant in variants_of(runs) if matches(variant, where)]
    if not chosen:
        return None, f"no run has {label(dict(where), study)}"
    if len(chosen) > 1:
        return None, f"{len(chosen)} variants have {label(dict(where), study)}; name more factors in `where`"
    values = {n: v for n, v in values_by_round(runs, chosen[0], metric).items() if v is not None}
    if not values:
        return None, f"{metric} was not measured in a finished run of this variant"
    if normalise is None:
        array = np.array(list(values.values()), dtype=np.float64)
        finished = [run for run in of_variant(runs, chosen[0]) if run.ok]
        return mean_of(array, finished, metric, virtual=virtual, seed=seed), None
    return _relative_to_best(runs, chosen[0], metric, values, virtual=virtual, seed=seed)


def _relative_to_best(
    runs: Sequence[Run], variant: Variant, metric: str, values: Mapping[int, float], *, virtual: bool, seed: int
) -> tuple[Estimate | None, str | None]:
    """The ratio to the best variant, paired by round like every other ratio."""
    best = _best_variant(runs, metric)
    if best is None:
        return None, f"{metric} was not measured, so no variant is the best"
    if variant_key(best) == variant_key(variant):
        return Estimate(1.0, 1.0, 1.0, LEVEL, len(values), "the best variant, 1 by definition"), None
    of_best = values_by_round(runs, best, metric)
    pairs = [(value, of_best.get(number)) for number, value in values.items()]
    logs = np.array([np.log(a / b) for a, b in pairs if a > 0 and b is not None and b > 0])
    if not len(logs):
        return None, "no round holds both this variant and the best one"
    hidden = pair(runs, variant, best, metric).hidden
    return estimate_ratio(logs, level=LEVEL, seed=seed, virtual=virtual, hidden=hidden), None


def _best_variant(runs: Sequence[Run], metric: str) -> Variant | None:
    means: list[tuple[float, Variant]] = []
    for variant in variants_of(runs):
        values = [value for value in values_by_round(runs, variant, metric).values() if value is not None]
        if values:
            means.append((float(np.mean(values)), variant))
    if not means:
        return None
    choose = min if metric_facts(metric).higher_is_better is False else max
    return choose(means, key=lambda pair: pair[0])[1]


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    low, high = estimate.low * factor, estimate.high * factor
    return Estimate(estimate.value * factor, low, high, estimate.level, estimate.n, estimate.method)
