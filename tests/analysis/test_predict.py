"""Every published cell comes back, good or bad, in the publication's unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fathom.analysis.model import Prediction
from fathom.analysis.predict import predictions
from fathom.results import Run

A, B = {"log.block": 512}, {"log.block": 4096}


@pytest.fixture
def runs(run: Callable[..., Run]) -> list[Run]:
    slow, fast = (3000.0, 3100.0, 2900.0), (10000.0, 10100.0, 9900.0)
    found = [run(A, n + 1, {"rows": value, "mb_per_s": 104.8576}) for n, value in enumerate(slow)]
    return found + [run(B, n + 1, {"rows": value, "mb_per_s": 200.0}) for n, value in enumerate(fast)]


def predict(runs: list[Run], published: dict[str, Any], primary: str | None = "rows") -> tuple[Prediction, ...]:
    usual = {
        "where": {},
        "metric": None,
        "value": None,
        "unit": None,
        "calibrated": False,
        "source": None,
        "note": None,
    }
    cells = [{**usual, **cell} for cell in published["cells"]]
    whole = {"published": {"normalise": None, **published, "cells": cells}}
    return predictions(runs, whole, primary, virtual=False, seed=1)


def test_cell_with_a_value_gets_its_error(runs: list[Run]) -> None:
    (found,) = predict(runs, {"cells": [{"name": "c", "where": A, "value": 4000, "source": "S"}]})
    assert found.predicted is not None
    assert found.predicted.value == pytest.approx(3000)
    assert found.relative_error == pytest.approx(-0.25)
    assert (found.source, found.calibrated, found.unit) == ("S", False, "rows")


def test_cell_without_a_value_is_a_prediction_alone(runs: list[Run]) -> None:
    (found,) = predict(runs, {"cells": [{"name": "c", "where": B}]})
    assert (found.published, found.relative_error) == (None, None)
    assert found.predicted is not None


def test_normalised_cells_are_ratios_to_the_best_variant(runs: list[Run]) -> None:
    cells = [{"name": "a", "where": A, "value": 0.30, "calibrated": True}, {"name": "b", "where": B, "value": 1.0}]
    low, best = predict(runs, {"normalise": "best", "cells": cells})
    assert low.predicted is not None
    assert low.predicted.value == pytest.approx(0.30, abs=0.001)
    assert low.predicted.low < 0.30 < low.predicted.high
    assert low.calibrated
    assert low.unit == ""
    assert best.predicted is not None
    assert best.predicted.value == 1.0


def test_the_best_of_a_time_is_the_shortest(run: Callable[..., Run]) -> None:
    runs = [run(A, 1, {"elapsed_s": 680.0}), run(B, 1, {"elapsed_s": 68.0})]
    published = {"normalise": "best", "cells": [{"name": "a", "where": A}]}
    (found,) = predict(runs, published, "elapsed_s")
    assert found.predicted is not None
    assert found.predicted.value == pytest.approx(10.0)
    assert not found.predicted.has_interval


def test_figures_are_compared_in_the_publications_unit(runs: list[Run]) -> None:
    cell = {"name": "c", "where": A, "metric": "mb_per_s", "unit": "MiB/s", "value": 100}
    (found,) = predict(runs, {"cells": [cell]})
    assert found.predicted is not None
    assert found.predicted.value == pytest.approx(100.0)
    assert found.relative_error == pytest.approx(0.0)


@pytest.mark.parametrize(("unit", "value"), [("", 0.3), ("x", 0.3), ("%", 30.0)])
def test_shares_are_compared_in_per_cent_or_as_ratios(runs: list[Run], unit: str, value: float) -> None:
    cell = {"name": "a", "where": A, "unit": unit, "value": value}
    (found,) = predict(runs, {"normalise": "best", "cells": [cell]})
    assert found.relative_error == pytest.approx(0.0, abs=0.001)
    assert found.unit == unit


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ({"where": {"log.block": 1}}, "no run has"),
        ({"where": {}}, "2 variants"),
        ({"where": A, "metric": "iops"}, "not measured"),
        ({"where": A, "unit": "ms"}, "cannot be written in ms"),
    ],
)
def test_a_cell_that_cannot_be_predicted_says_why(runs: list[Run], cell: dict[str, Any], words: str) -> None:
    (found,) = predict(runs, {"cells": [{"name": "c", "value": 5, **cell}]})
    assert (found.predicted, found.relative_error) == (None, None)
    assert words in (found.note or "")
    assert found.published == 5


def test_a_cell_without_any_metric_is_refused(runs: list[Run]) -> None:
    with pytest.raises(ValueError, match="name the metric"):
        predict(runs, {"cells": [{"name": "c"}]}, primary=None)
