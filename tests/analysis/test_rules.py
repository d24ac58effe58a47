"""What a study fixes is read as written, and nonsense is refused with its key and a remedy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.analysis.rules import parse_margin, rules_of


def test_rules_are_read() -> None:
    rules = rules_of(
        {
            "compare": {
                "metric": "iops",
                "baseline": {"a.b": "x"},
                "equivalent_within": "5 %",
                "rounds": 8,
                "max_rounds": 20,
                "looks": [8, 12, 20],
            }
        }
    )
    assert rules is not None
    assert (rules.metric, rules.baseline, rules.margin) == ("iops", {"a.b": "x"}, 0.05)
    assert (rules.rounds, rules.max_rounds, rules.looks) == (8, 20, (8, 12, 20))


def test_a_study_without_compare_has_no_rules() -> None:
    assert rules_of({"title": "only predictions"}) is None


@pytest.mark.parametrize(
    ("compare", "words"),
    [
        ({"baseline": {"a": 1}}, "metric"),
        ({"metric": "iops", "equivalent_within": "two"}, "equivalent_within = 'two'"),
        ({"metric": "iops", "equivalent_within": "0%"}, "between 0 and 100 %"),
        ({"metric": "iops", "equivalent_within": 2}, "equivalent_within = 2"),
        ({"metric": "iops", "equivalent_within": "nan"}, "equivalent_within"),
        ({"metric": "iops", "rounds": 0}, "rounds = 0"),
        ({"metric": "iops", "rounds": True}, "rounds = True"),
        ({"metric": "iops", "looks": []}, "looks = []"),
        ({"metric": "iops", "looks": ["5"]}, "looks"),
    ],
)
def test_nonsense_is_refused_by_name(compare: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match="compare") as caught:
        rules_of({"compare": compare})
    assert words in str(caught.value)


@given(st.floats(0.0001, 0.99))
def test_a_margin_means_the_same_as_fraction_and_as_per_cent(margin: float) -> None:
    assert parse_margin(margin) == pytest.approx(parse_margin(f"{margin * 100!r}%"))
