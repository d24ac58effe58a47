"""One campaign in, everything a report needs out: purely, and with a headline a person would say."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.conftest import stated
from fathom.analysis.analyse import analyse
from fathom.analysis.headline import _without_verdict, headline
from fathom.analysis.model import Analysis, Prediction, Verdict
from fathom.report.charts import effect
from fathom.report.format import ratio_interval
from fathom.results import Campaign, Run

Make = Callable[..., Campaign]
LOAD = "workload.outstanding"
PER_ROW = (1000.0, 1010.0, 990.0, 1005.0, 995.0)
WHOLE = (61_100.0, 61_500.0, 60_400.0, 61_700.0, 60_700.0)


def test_the_headline_is_the_answer_in_a_sentence(campaign: Make) -> None:
    labels = {"workload.transaction": {"whole": "one transaction for all rows", "per-row": "one per row"}}
    values = {"per-row": PER_ROW, "whole": WHOLE}
    found = analyse(campaign(values, metric="rows_per_second", study={"labels": labels}))
    assert found.headline.startswith(
        "One transaction for all rows is 61.1 × faster than one per row: 61,078 against 1,000 rows/s (95 % interval 60."
    )
    assert found.headline.endswith(", 5 rounds).")


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (0.5, "B is 2.000 × slower than a: 500 against 1,000 IOPS ("),
        (1.05, "B is 5 % faster than a: 1,050 against 1,000 IOPS ("),
        (1.01, "B is 1 % faster than a, which is within the margin of 2 %: 1,010 against 1,000 IOPS ("),
        (1.0, "B and a are equivalent within 2 %: 1,000 against 1,000 IOPS ("),
    ],
)
def test_headline_of_each_verdict(campaign: Make, factor: float, words: str) -> None:
    noise = (1.001, 0.999, 1.0005, 0.9995, 1.0)
    better = [value * factor * n for value, n in zip(PER_ROW, noise, strict=True)]
    assert analyse(campaign({"a": PER_ROW, "b": better})).headline.startswith(words)


def test_headline_of_an_undecided_and_of_an_impossible_comparison(campaign: Make) -> None:
    undecided = analyse(campaign({"a": PER_ROW, "b": (1050.0, 960.0, 1040.0, 980.0, 1030.0)})).headline
    assert undecided.startswith("B against a: undecided")
    assert "rounds more needed." in undecided
    failed = analyse(campaign({"a": PER_ROW, "b": [*PER_ROW[:4], None]})).headline
    assert failed == "B and a are not comparable: b: 1 of 5 runs failed (input-output)."


def test_two_rounds_that_differ_much_tell_nothing_and_get_no_interval(campaign: Make) -> None:
    made = campaign({"a": [1000.0, 1000.0], "b": [3000.0, 500.0]})
    found = analyse(made)
    assert "1,225 against 1,000 IOPS (2 rounds tell nothing); two rounds are too few" in found.headline
    (comparison,) = found.comparisons
    assert ratio_interval(comparison.ratio) == "2 rounds tell nothing"
    low, high = effect._range([comparison])
    assert 0.3 < low < 0.5
    assert 3 < high < 4


def test_one_comparison_beside_overloads_is_said_as_one(campaign: Make) -> None:
    found = analyse(campaign({"a": [1000.0, 1001.0], "b": [1000.0, 1100.0]}))
    fixed = tuple(dataclasses.replace(one, verdict=Verdict.FIXED) for one in found.comparisons)
    assert _without_verdict(fixed, {}).endswith("so it shows no difference in 1 comparison with a")
    assert _without_verdict(found.comparisons, {}).startswith("1 comparison with a shows no difference")


def test_headline_of_several_comparisons_names_the_largest(campaign: Make) -> None:
    twice = [2 * value for value in WHOLE]
    found = analyse(campaign({"a": PER_ROW, "b": WHOLE, "c": twice}))
    assert found.headline.startswith("C is 122 × faster than a")
    assert found.headline.endswith("; the largest of 2 comparisons.")


def test_headline_of_equivalent_variants_is_one_statement(campaign: Make) -> None:
    noise = {"b": (1.001, 0.999, 1.0005, 0.9995, 1.0), "c": (0.999, 1.001, 1.0, 1.0005, 0.9995)}
    values = {name: [v * f for v, f in zip(PER_ROW, series, strict=True)] for name, series in noise.items()}
    found = analyse(campaign({"a": PER_ROW, **values}))
    assert {c.verdict for c in found.comparisons} == {Verdict.EQUIVALENT}
    assert found.headline == "Both variants are equivalent to a within 2 %: 1,000 against 1,000 IOPS."


def prediction(error: float | None, *, calibrated: bool = False, predicted: bool = True) -> Prediction:
    from fathom.analysis.model import Estimate

    value = Estimate(1.0, 1.0, 1.0, 0.0, 1, "x") if predicted else None
    return Prediction("c", "iops", "IOPS", None if error is None else 1.0, value, error, calibrated, "S")


def analysis_of(predictions: tuple[Prediction, ...]) -> Analysis:
    return Analysis("", "", "iops", (), (), (), (), (), (), predictions, (), (), "")


def test_headline_of_predictions_counts_the_bad_ones_too() -> None:
    cells = (prediction(0.02, calibrated=True), prediction(-0.4), prediction(None), prediction(None, predicted=False))
    assert headline(analysis_of(predictions=cells), {}, (), ()) == (
        "0 of 1 independent check held within 10 % (off by −40 %); 1 published cell was used for calibration; "
        "1 unpublished cell is predicted; 1 could not be predicted."
    )


def test_headline_without_comparison_is_what_was_measured(run: Callable[..., Run], campaign: Make) -> None:
    whole = campaign({"x": [206_778.0, 206_000.0]})
    study = {"title": "T"}
    found = analyse(dataclasses.replace(whole, study=study))
    assert found.headline == "X: 206,389 IOPS."
    assert found.metric == "iops"


def test_analysis_is_a_function_of_the_campaign(campaign: Make) -> None:
    rng = np.random.default_rng(1)
    noisy = (1000 * np.exp(0.05 * rng.standard_normal((2, 25)))).tolist()
    values = {"a": noisy[0], "b": noisy[1]}
    assert analyse(campaign(values)) == analyse(campaign(values))


def test_every_metric_of_every_variant_is_summarised(run: Callable[..., Run], campaign: Make, factor: str) -> None:
    extra = [run({factor: "b"}, n, {"iops": 5.0 * n, "latency_ms": 1.0, "waiting_ms": None}) for n in (1, 2, 3)]
    found = analyse(campaign({"a": [1.0, 2.0, 3.0]}, extra_runs=extra))
    named = {(s.variant[factor], s.metric): s for s in found.summaries}
    assert set(named) == {("a", "iops"), ("a", "latency_ms"), ("b", "iops"), ("b", "latency_ms")}
    assert named["b", "iops"].points == ((1, 5.0), (2, 10.0), (3, 15.0))
    assert named["b", "iops"].cv == pytest.approx(0.5)
    assert named["a", "latency_ms"].mean is None


def test_failures_are_counted_and_warned_about(campaign: Make) -> None:
    found = analyse(campaign({"a": PER_ROW, "b": [*PER_ROW[:3], None, None]}))
    assert [s.failed for s in found.summaries] == [0, 2]
    assert any(text.startswith("2 of 10 runs failed") for text in found.warnings)


def test_incomplete_quick_and_virtual_campaigns_say_so(campaign: Make) -> None:
    whole = campaign({"a": PER_ROW, "b": PER_ROW}, clock="virtual")
    found = analyse(dataclasses.replace(whole, planned=20, quick=True))
    text = " ".join(found.warnings)
    assert "10 of 20 runs are done" in text
    assert "Tiny scale" in text
    assert "not how well the model fits the world" in text


def test_the_scale_of_a_study_is_told(campaign: Make) -> None:
    whole = campaign({"a": PER_ROW, "b": WHOLE}, study={"scale": ["a tenth", "tiny"]})
    assert analyse(whole).warnings == ("Scale: a tenth", "Scale: tiny")


def test_drift_that_all_variants_share_is_a_warning_not_a_verdict(campaign: Make) -> None:
    falling = [1000.0 * 0.97**n * (1 + 0.002 * (-1) ** n) for n in range(8)]
    twice = [2.0 * value * (1 + 0.001 * (-1) ** (n // 2)) for n, value in enumerate(falling)]
    found = analyse(campaign({"a": falling, "b": twice}))
    assert found.comparisons[0].verdict is Verdict.FASTER
    assert any("of all variants fell by" in text for text in found.warnings)


def samples(rates: np.ndarray) -> pl.DataFrame:
    count = len(rates)
    return pl.DataFrame(
        {
            "t_s": np.arange(count, dtype=float),
            "seconds": np.ones(count),
            "phase": ["measure"] * count,
            "node": ["workload"] * count,
            "op": ["read"] * count,
            "count": rates.astype(int),
        }
    )


def sampled(
    run: Callable[..., Run], factor: str, level: str, series: Callable[[], np.ndarray], mean: float
) -> list[Run]:
    noise = (1.001, 0.999, 1.0005, 0.9995, 1.0)
    return [run({factor: level}, n + 1, {"iops": mean * noise[n]}, samples=samples(series())) for n in range(5)]


def test_runs_that_never_settled_forbid_a_small_verdict(run: Callable[..., Run], campaign: Make, factor: str) -> None:
    rng = np.random.default_rng(2)
    level, half = np.full(60, 3000.0), np.where(np.arange(60) < 36, 3000.0, 1500.0)
    steady = sampled(run, factor, "a", lambda: level * (1 + 0.02 * rng.standard_normal(60)), 2400.0)
    broken = sampled(run, factor, "b", lambda: half * (1 + 0.02 * rng.standard_normal(60)), 2500.0)
    found = analyse(campaign({"a": []}, compare={"rounds": 5}, extra_runs=steady + broken))
    assert [state.steady for state in found.steady] == [True] * 5 + [False] * 5
    assert found.comparisons[0].verdict is Verdict.NOT_COMPARABLE
    assert "b: the rate falls by" in found.comparisons[0].reasons[0]


def test_a_fixed_amount_of_work_needs_no_steady_state(run: Callable[..., Run], campaign: Make, factor: str) -> None:
    half = np.where(np.arange(60) < 36, 3000.0, 1500.0)
    runs = sampled(run, factor, "a", lambda: half, 2400.0)
    runs += [dataclasses.replace(r, variant={factor: "b"}, metrics={"iops": 2500.0 + r.round % 2}) for r in runs]
    study = {"variants": [stated(lasts_ns=None)]}
    found = analyse(campaign({"a": []}, compare={"rounds": 5}, extra_runs=runs, study=study))
    assert found.steady == ()
    assert found.comparisons[0].verdict is Verdict.FASTER


def test_phases_change_the_level_on_purpose(run: Callable[..., Run], campaign: Make, factor: str) -> None:
    half = np.where(np.arange(60) < 36, 3000.0, 1500.0)
    runs = sampled(run, factor, "a", lambda: half, 2400.0)
    runs += [dataclasses.replace(r, variant={factor: "b"}, metrics={"iops": 2500.0 + r.round % 2}) for r in runs]
    study = {"variants": [stated(demand=None, phases=[{"name": "one", "demand": {"rate": 5.0}}])]}
    found = analyse(campaign({"a": []}, compare={"rounds": 5}, extra_runs=runs, study=study))
    assert found.steady == ()
    assert found.comparisons[0].verdict is Verdict.FASTER


def test_load_tables_are_fitted_and_audited(run: Callable[..., Run], campaign: Make) -> None:
    rng = np.random.default_rng(3)
    runs = []
    for users in (1, 2, 4, 8, 16, 32):
        for n in (1, 2, 3):
            iops = min(1000.0 * users, 8000.0) * float(np.exp(0.01 * rng.standard_normal()))
            metrics = {"iops": iops, "latency_ms": 1e3 * users / iops, "outstanding": float(users)}
            runs.append(run({LOAD: users}, n, metrics))
    settings = {"volumes": {"data": {"kind": "throttle", "iops": 8000}}}
    variants = [
        stated({LOAD: users}, demand={"users": users, "pauses": False}, settings=settings)
        for users in (1, 2, 4, 8, 16, 32)
    ]
    study: dict[str, Any] = {"loads": {LOAD: "users"}, "variants": variants}
    whole = campaign({"x": []}, extra_runs=runs, study=study)
    found = analyse(dataclasses.replace(whole, study={k: v for k, v in whole.study.items() if k != "compare"}))
    (knee,) = found.knees
    assert knee.n_star.low <= 8.0 <= knee.n_star.high
    assert knee.bottleneck == "volumes.data.iops = 8,000"
    assert found.scalability[0].note is not None
    assert len(found.audits) == 12
    assert all(audit.passed for audit in found.audits)


def test_published_figures_come_back_with_calibration(campaign: Make, factor: str) -> None:
    study = {
        "published": {
            "normalise": None,
            "cells": [
                {
                    "name": "per row",
                    "where": {factor: "per-row"},
                    "metric": None,
                    "value": 900.0,
                    "unit": None,
                    "calibrated": True,
                    "source": "VMware",
                    "note": None,
                }
            ],
            "table": [{"where": "row", "iops": 206_778, "latency_ms": 1.25, "outstanding": 256}],
        },
        "calibrated_on": ["p = 1 was fitted to x: y"],
    }
    found = analyse(campaign({"per-row": PER_ROW, "whole": WHOLE}, study=study))
    assert found.predictions[0].relative_error == pytest.approx(1000 / 900 - 1)
    assert found.predictions[0].calibrated
    assert found.calibrated_on == ("p = 1 was fitted to x: y",)
    assert found.audits[0].expected == 256


def test_a_campaign_in_which_nothing_finished_has_an_honest_headline(campaign: Make) -> None:
    found = analyse(campaign({"a": [None, None], "b": [None, None]}))
    assert found.comparisons[0].verdict is Verdict.NOT_COMPARABLE
    assert "runs failed" in found.headline


def test_samples_never_count_as_observations(run: Callable[..., Run], campaign: Make, factor: str) -> None:
    """A thousand samples per run leave n at the number of rounds."""
    series = np.full(1000, 3000.0)
    runs = sampled(run, factor, "a", lambda: series, 2400.0) + sampled(run, factor, "b", lambda: series, 2500.0)
    found = analyse(campaign({"a": []}, compare={"rounds": 5}, extra_runs=runs))
    counts = {e.n for c in found.comparisons for e in (c.ratio, c.equivalence) if e is not None}
    counts |= {summary.mean.n for summary in found.summaries if summary.mean is not None}
    assert counts == {5}
