"""Searches for a setting whose goals are met only as long as burst credits or the room in a cache last."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathom.search import First, Highest

BURST = """\
title = "How much for ever?"
clock = "virtual"

[volumes.disk]
kind = "model"
model = "aws/gp2"
size = "100GiB"

[workload]
kind = "io"
volumes = ["disk"]
size = "8KiB"
rate = 1000
ramp = "200ms"
duration = "2s"

[compare]
metric = "iops"
rounds = 1

[goals]
latency_p99_ms = "< 20ms"
"""

SIZES = "volumes.disk.size=50GiB,100GiB,500GiB"


@pytest.fixture
def burst(tmp_path: Path) -> Path:
    """1,000/s on a volume that sustains 3 per GiB, with credits for half an hour."""
    path = tmp_path / "burst.toml"
    path.write_text(BURST)
    return path


def test_the_first_value_on_burst_credits_is_told_with_the_first_that_holds_for_ever(fathom: Any, burst: Path) -> None:
    done = fathom("simulate", burst, "--find-first", SIZES, "--out", "found")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith("volumes.disk.size = 50GiB is the first that meets the goals, on burst credits: ")
    assert line.endswith(" more, then 150 IOPS; 500GiB is the first that does so for ever.")
    assert "goals met, on burst credits: " in done.stderr
    answer = json.loads(fathom("simulate", burst, "--find-first", SIZES, "--out", "found", "--json").stdout)
    assert (answer["met"], answer["missed"], answer["lasting"]) == ("50GiB", None, "500GiB")
    assert answer["steps"][0]["reserves"][0].startswith("It lives on burst credits: ")
    assert all(not step["reserves"] for step in answer["steps"] if step["value"] == "500GiB")
    none = fathom("simulate", burst, "--find-first", "volumes.disk.size=50GiB,100GiB", "--out", "found")
    assert none.stdout.endswith("then 150 IOPS; no value does so for ever.\n")


def test_the_highest_load_on_burst_credits_is_told_as_one_that_ends(fathom: Any, burst: Path) -> None:
    done = fathom("simulate", burst, "--find-max", "workload.rate=100..20000", "--out", "found")
    assert done.returncode == 0, done.stderr
    assert " meets the goals, on burst credits: " in done.stdout
    assert " more, then 300 IOPS; " in done.stdout
    answer = json.loads(
        fathom("simulate", burst, "--find-max", "workload.rate=100..20000", "--out", "found", "--json").stdout
    )
    assert (answer["lasting"], answer["steps"][0]["reserves"]) == (None, [])
    first = answer["steps"][0]
    assert (first["passed"], first["untold"][:38]) == (False, "p99 latency rests on 200 requests, and"), "it goes on"


def test_a_range_that_meets_the_goals_at_both_ends_may_be_one_where_less_is_better(fathom: Any, burst: Path) -> None:
    done = fathom("simulate", burst, "--find-max", "workload.rate=100..200", "--out", "found")
    assert done.stdout == (
        "workload.rate = 200 meets the goals. Both ends of the range do, 100 and 200: if less of it is better, "
        "--find-first names the smallest of a list; else the limit is higher.\n"
    )
    assert done.returncode == 8, "400 requests tell no 99th percentile"
    assert "not known of workload.rate = 200: p99 latency rests on " in done.stderr


def test_a_rule_of_the_comparison_is_no_setting_to_search_for(fathom: Any, burst: Path) -> None:
    done = fathom("simulate", burst, "--find-max", "compare.rounds=1..5")
    assert done.returncode == 2
    assert "compare.rounds is no setting of what runs" in done.stderr


def test_a_list_is_tried_on_until_one_lasts() -> None:
    tried: list[Any] = []

    def meets(level: Any) -> bool:
        tried.append(level)
        return bool(level != 3 and level > 1)

    found = First("key", (1, 2, 3, 4, 5)).search(meets, lambda level: level >= 4)
    assert (found.met, found.missed, found.lasting, tried) == (2, 1, 4, [1, 2, 3, 4])
    found = First("key", (1, 2)).search(meets, lambda _: False)
    assert (found.met, found.lasting) == (2, None)
    assert Highest("key", 1, 9).search(lambda level: level < 5, lambda _: False).lasting is None
