"""The advice that goes with larger transactions: what becomes one unit of failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from analysis.conftest import stated
from fathom.analysis.analyse import analyse
from fathom.finding import Finding
from fathom.results import Campaign

FAST = [200.0, 203.0, 201.0]
SLOW = [100.0, 101.0, 100.5]


def found(campaign: Campaign) -> list[Finding]:
    return [finding for finding in analyse(campaign).findings if finding.rule == "batch"]


def request(rows: Any) -> dict[str, Any]:
    """What a resolved study says of a transaction of so many rows, of all (`None`), or of other work (a word)."""
    if isinstance(rows, str):
        return {}
    words = f"a transaction of {'all rows' if rows is None else rows}"
    return {"": {"words": words, "unit": "rows", "size": rows}}


def transactions(factor: str, set_by: dict[str, Any]) -> dict[str, Any]:
    """A resolved study whose levels set that transaction."""
    return {"variants": [stated({factor: level}, requests=request(value)) for level, value in set_by.items()]}


@pytest.mark.parametrize(("level", "unit"), [("whole-batch", "the whole batch"), ("thousand", "1,000 rows")])
def test_a_faster_batch_is_told_to_be_one_unit_of_failure(
    campaign: Callable[..., Campaign], factor: str, level: str, unit: str
) -> None:
    study = transactions(factor, {"per-row": 1, "whole-batch": None, "thousand": 1000})
    (finding,) = found(campaign({"per-row": SLOW, level: FAST}, study=study))
    assert f"{unit} become" in finding.what
    assert "one unit of failure" in finding.what
    assert unit in finding.evidence[0].sentence


@pytest.mark.parametrize(
    "values",
    [{"whole-batch": SLOW, "per-row": FAST}, {"per-row": FAST, "whole-batch": SLOW}, {"gp2": SLOW, "gp3": FAST}],
)
def test_smaller_slower_or_no_transactions_have_none(
    campaign: Callable[..., Campaign], factor: str, values: dict[str, Any]
) -> None:
    rows = {"per-row": 1, "whole-batch": None, "gp2": "reads", "gp3": "reads"}
    assert found(campaign(values, study=transactions(factor, {level: rows[level] for level in values}))) == []


def test_a_way_between_that_gains_most_of_it_is_named(campaign: Callable[..., Campaign], factor: str) -> None:
    study = transactions(factor, {"per-row": 1, "hundred": 100, "whole-batch": None})
    between = [190.0, 192.0, 191.0]
    (finding,) = found(campaign({"per-row": SLOW, "hundred": between, "whole-batch": FAST}, study=study))
    assert finding.evidence[-1].sentence == "Hundred gains 1.90 × where this gains 2.00 ×."
