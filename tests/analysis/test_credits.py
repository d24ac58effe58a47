"""Burst credits: who lives on them, how long they last, and what is said of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from analysis.conftest import FACTOR, make_campaign, make_run
from fathom.analysis.analyse import analyse
from fathom.analysis.credits import all_on_credits
from fathom.analysis.model import Analysis
from fathom.results import Run

_NOISE = {"slow": (0, 1, 3, 0, 2, 1), "fast": (0, 2, 1, 3, 0, 2)}
"""IOPS added, by the round."""


def run(name: str, number: int, iops: float, facts: dict[str, str], *, size: int = 8192) -> Run:
    """A run of 100 s on one volume."""
    count = int(iops * 50)
    node = {"kind": "throttle", **{kind: {"count": count, "bytes": count * size} for kind in ("read", "write")}}
    made = make_run(
        {FACTOR: name}, number, {"iops": iops + _NOISE[name][number], "latency_p99_ms": 1.0, "elapsed_s": 100.0}
    )
    return dataclasses.replace(made, volumes={"disk": node}, facts=facts, measured_s=100.0)


def credits(left: float, *, limit: float = 300.0, word: str = "iops", name: str = "io_credits") -> dict[str, str]:
    return {f"volumes.disk.{word}_limit": str(limit), f"volumes.disk.{name}": str(left)}


def compared(slow: dict[str, str], fast: dict[str, str], rates: tuple[float, float]) -> Analysis:
    sides = (("slow", rates[0], slow), ("fast", rates[1], fast))
    runs = [run(name, number, rate, facts) for name, rate, facts in sides for number in range(1, 6)]
    whole = make_campaign({"slow": []}, metric="iops", compare={"rounds": 5}, extra_runs=runs)
    return analyse(dataclasses.replace(whole, planned=len(runs)))


@pytest.mark.parametrize(
    ("iops", "facts", "words"),
    [
        (3000.0, credits(5_400_000), "lives on burst credits: 3,000 IOPS for 33 min more, then 300 IOPS"),
        (400.0, credits(1e6), "lives on burst credits: 400 IOPS for 2.8 h more, then 300 IOPS"),
        (3000.0, credits(0), "spent its burst credits within the run and does 300 IOPS without them"),
        (
            6400.0,
            credits(1e9, limit=40e6, word="bytes_per_s", name="byte_credits"),
            "lives on burst credits: 52.4 MB/s for 80 s more, then 40 MB/s",
        ),
        (301.0, credits(5_400_000), None),
        (200.0, credits(5_400_000), None),
        (3000.0, {"volumes.disk.iops_limit": "3000"}, None),
        (3000.0, {"volumes.disk.iops_limit": "unlimited", "volumes.disk.io_credits": "9"}, None),
    ],
)
def test_credits_last_as_long_as_they_pay_for_the_rest(iops: float, facts: dict[str, str], words: str | None) -> None:
    found = [one.words for one in all_on_credits([run("fast", 1, iops, facts)])]
    assert found == ([] if words is None else [words])


def test_a_faster_variant_on_credits_is_a_trade_off() -> None:
    found = compared({}, credits(5_400_000), (2000.0, 3000.0))
    first = found.findings[0]
    assert "but it lives on burst credits: 3,000 IOPS for 33 min more, then 300 IOPS" in found.headline
    assert (first.rule, first.severity) == ("trade-off", "warning")
    assert first.remedies[0].action == "Weigh the gain of fast against its price."
    (burst,) = (one for one in found.findings if one.rule == "burst-credits")
    assert burst.remedies[0].commands == ('workload.ramp = "37min"',)


@pytest.mark.parametrize(
    ("slow", "fast", "action"),
    [
        ({}, credits(5e6), "Prefer slow for a load that lasts: it needs no burst credits."),
        (credits(5e6), {}, "Prefer fast for a load that lasts: it needs no burst credits."),
        (credits(5e6), credits(6e6), "Do not choose by this: both live on burst credits."),
        ({}, {}, "Choose by price or simplicity, not by speed."),
    ],
)
def test_variants_that_are_alike_while_credits_last_are_not_chosen_by_price(
    slow: dict[str, str], fast: dict[str, str], action: str
) -> None:
    found: Any = compared(slow, fast, (3000.0, 3000.0)).findings[0]
    assert (found.rule, found.remedies[0].action) == ("alike", action)
    assert (found.severity == "good") is (not slow and not fast)
