"""The rules of comparison as the engine resolved them."""

from __future__ import annotations

from analysis.conftest import COMPARE
from fathom.analysis.rules import Rules, rules_of


def test_rules_are_those_of_the_resolved_study() -> None:
    compare = {
        **COMPARE,
        "metric": "iops",
        "baseline": {"a.b": "x"},
        "looks": [8, 12],
        "guards": [],
        "mean_over": ["c"],
    }
    assert rules_of({"compare": compare}) == Rules("iops", {"a.b": "x"}, 0.02, ("c",), 5, None, (8, 12), (), 0.1)


def test_a_study_without_compare_has_no_rules() -> None:
    assert rules_of({"title": "only predictions"}) is None
    assert rules_of({"compare": None}) is None
