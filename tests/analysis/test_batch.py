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


def transactions(factor: str, set_by: dict[str, Any]) -> dict[str, Any]:
    """A resolved study whose levels set that transaction."""
    settings = {level: {"workload": {"transaction": value}} for level, value in set_by.items()}
    return {"variants": [stated({factor: level}, settings=settings[level]) for level in set_by]}


@pytest.mark.parametrize(("level", "unit"), [("whole-batch", "the whole batch"), ("thousand", "1000 rows")])
def test_a_faster_batch_is_told_to_be_one_unit_of_failure(
    campaign: Callable[..., Campaign], factor: str, level: str, unit: str
) -> None:
    study = transactions(factor, {"per-row": "per-row", "whole-batch": "whole-batch", "thousand": 1000})
    (finding,) = found(campaign({"per-row": SLOW, level: FAST}, study=study))
    assert f"{unit} become one unit of failure" in finding.what
    assert unit in finding.evidence[0].sentence


@pytest.mark.parametrize(
    "values",
    [{"whole-batch": SLOW, "per-row": FAST}, {"per-row": FAST, "whole-batch": SLOW}, {"gp2": SLOW, "gp3": FAST}],
)
def test_smaller_slower_or_no_transactions_have_none(
    campaign: Callable[..., Campaign], factor: str, values: dict[str, Any]
) -> None:
    assert found(campaign(values, study=transactions(factor, {level: level for level in values}))) == []
