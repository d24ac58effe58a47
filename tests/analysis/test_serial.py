"""Rounds that resemble each other are told, and forbid a verdict that their correlation could have made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analysis.conftest import make_campaign
from fathom.analysis.analyse import analyse
from fathom.analysis.interval import t_interval
from fathom.analysis.serial import ALPHA, find_serial


def _rounds(rho: float, count: int, rng: np.random.Generator) -> Any:
    logs = rng.standard_normal(count)
    for place in range(1, count):
        logs[place] = rho * logs[place - 1] + np.sqrt(1 - rho**2) * logs[place]
    return logs


def test_independent_rounds_resemble_each_other_as_seldom_as_the_level_says() -> None:
    rng = np.random.default_rng(4)
    found = sum(find_serial(rng.standard_normal(12)) is not None for _ in range(600))
    assert found / 600 <= ALPHA + 0.02


@pytest.mark.parametrize(("rho", "before", "after"), [(0.5, 0.2, 0.18), (0.8, 0.48, 0.3)])
def test_a_difference_that_their_correlation_could_have_made_is_forbidden(
    rho: float, before: float, after: float
) -> None:
    rng, differ, stand = np.random.default_rng(5), 0, 0
    for _ in range(1000):
        logs = _rounds(rho, 15, rng)
        found = t_interval(logs, 0.95)
        slack = max(float(found.low), -float(found.high))
        if slack > 0:
            differ += 1
            serial = find_serial(logs)
            stand += serial is None or serial.widening < slack
    assert differ / 1000 > before
    assert stand / 1000 < after


def test_it_is_told_of_rounds_on_a_real_clock() -> None:
    wave = [-4, -3, -1, 1, 3, 4, 4, 3, 1, -1, -3, -4]
    values = {"a": [1000.0] * 12, "b": [1000.0 * (1 + step / 100) for step in wave]}

    def said(clock: str) -> list[str]:
        reasons = analyse(make_campaign(values, clock=clock)).comparisons[0].reasons
        return [text for text in reasons if "resemble each other" in text]

    assert len(said("real")) == 1
    assert said("virtual") == []


def test_few_or_equal_rounds_tell_nothing() -> None:
    assert find_serial(np.arange(7.0)) is None
    assert find_serial(np.zeros(12)) is None
