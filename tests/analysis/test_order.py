"""In which order the two sides of a comparison ran."""

from __future__ import annotations

import dataclasses

from analysis.conftest import FACTOR, make_campaign, make_run
from fathom.analysis.analyse import analyse


def test_a_side_that_always_ran_first_is_told() -> None:
    def reasons(*first: str) -> list[str]:
        runs = [
            make_run({FACTOR: level}, number, {"iops": 100.0 + number + (level == "b") * 20}, order=2 * number + place)
            for number, one in enumerate(first, 1)
            for place, level in enumerate([one, "b" if one == "a" else "a"])
        ]
        campaign = make_campaign({"a": [1.0], "b": [1.0]})
        campaign = dataclasses.replace(campaign, runs=tuple(runs))
        return [said for c in analyse(campaign).comparisons for said in c.reasons if "ran " in said]

    assert reasons("a", "a", "a") == ["b ran after a in all 3 rounds: what the order does is part of the difference"]
    assert reasons("a", "b", "a") == []
    assert reasons("a", "a") == [], "two tell nothing"
