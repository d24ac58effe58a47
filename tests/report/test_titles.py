"""What stands above a grid of loads: that it depends on the load is said only where it does."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from analysis.conftest import FACTOR, make_campaign, make_run
from fathom.analysis.analyse import analyse
from fathom.report.context import Context
from fathom.report.document import Banner
from fathom.report.sections import verdict

USERS = "workload.users"


def banner(rates: dict[str, dict[int, float]]) -> Banner:
    """Of variants at loads, by their mean rates; five rounds scatter by half a per cent, the first is the baseline."""
    runs = []
    for place, (name, by_load) in enumerate(rates.items()):
        for users, mean in by_load.items():
            off = np.random.default_rng(users + place).normal(size=5)
            for number, value in enumerate(mean * (1 + 0.005 * (off - off.mean())), 1):
                runs.append(make_run({FACTOR: name, USERS: users}, number, {"iops": float(value)}))
    first = next(iter(rates))
    known = {"factors": {FACTOR: list(rates), USERS: [*rates[first]]}, "loads": {USERS: "users"}}
    rules = {"rounds": 5, "baseline": {FACTOR: first}}
    campaign = make_campaign({first: []}, compare=rules, study=known, extra_runs=runs)
    campaign = dataclasses.replace(campaign, planned=len(runs))
    blocks = verdict.build(Context(analyse(campaign), campaign))
    (found,) = (block for block in blocks if isinstance(block, Banner))
    return found


@pytest.mark.parametrize(
    ("rates", "word", "subject"),
    [
        ({"a": {1: 1000, 2: 1000}, "b": {1: 1500, 2: 500}}, "It depends on the load", ""),
        ({"a": {1: 1000, 2: 1000}, "b": {1: 500, 2: 1000}}, "▼ slower at 1 of 2 loads", "b against a"),
        (
            {"a": {1: 1000, 2: 1000}, "b": {1: 1500, 2: 1600}, "c": {1: 500, 2: 400}},
            "▲ faster at every load",
            "b against a",
        ),
        ({"a": {1: 1000, 2: 1000}, "b": {1: 1500, 2: 1600}}, "▲ faster at every load", ""),
        ({"a": {1: 1000, 2: 1000}, "b": {1: 1016, 2: 1016}}, "△ faster at every load, but small", "b against a"),
    ],
)
def test_it_depends_on_the_load_only_where_a_variant_is_better_at_one_and_worse_at_another(
    rates: dict[str, dict[int, float]], word: str, subject: str
) -> None:
    found = banner(rates)
    assert (found.word, found.subject) == (word, subject)
