"""A load generator that was late is told, and told from storage that is slow."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fathom.analysis.analyse import analyse
from fathom.finding import Finding
from fathom.results import Campaign, Run

Find = Callable[..., list[Finding]]


@pytest.fixture
def found(run: Callable[..., Run], campaign: Callable[..., Campaign], factor: str) -> Find:
    """What is found about open loops with a mean latency of 4 ms and more metrics."""

    def find(**metrics: float) -> list[Finding]:
        own = {"iops": 500.0, "latency_ms": 4.0, "arrivals_per_second": 500.0, **metrics}
        runs = [run({factor: level}, number, own) for level in ("a", "b") for number in (1, 2, 3)]
        made = campaign({"a": [], "b": []}, compare={"rounds": 3}, extra_runs=runs)
        return [finding for finding in analyse(made).findings if finding.rule == "late"]

    return find


def test_a_late_load_generator_is_told_with_how_late_it_was(found: Find) -> None:
    (finding,) = found(late_ms=3.0)
    assert "late by 3.00 ms in the mean, 75 % of the latency: this machine is too busy" in finding.what
    assert len(finding.evidence) == 1


def test_queueing_for_a_user_is_told_beside_it(found: Find) -> None:
    (finding,) = found(late_ms=3.0, backlog_max=12.0)
    assert "waited for a free user" in finding.evidence[1].sentence


def test_timers_that_are_a_little_late_are_not_told(found: Find) -> None:
    assert found(late_ms=0.05, backlog_max=12.0) == []
    assert found(late_ms=0.05, latency_ms=0.1) == []
    assert found() == []
