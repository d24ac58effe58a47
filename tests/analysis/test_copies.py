"""What the loss of the last copy of a mirror takes is no price beside a volume that has but one."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from analysis.conftest import FACTOR, make_campaign, make_run, stated
from fathom.analysis.analyse import analyse
from fathom.analysis.model import Analysis
from fathom.analysis.transient import transients

VOLUMES: dict[str, Any] = {
    "one": {"kind": "model"},
    "a": {"kind": "model"},
    "b": {"kind": "model"},
    "striped": {"kind": "stripe", "members": ["a", "b"]},
    "mirror": {"kind": "mirror", "legs": ["a", "b"]},
    "whole": {"kind": "mirror", "legs": ["one", "striped"]},
}
ONE_LEFT = "while only one of 2 copies is in sync, its loss takes everything since the last backup"
CACHE = "the loss of the cache device takes the writes of up to the last 10 s"


def compared(variant: str, baseline: str, lost: dict[str, str]) -> Analysis:
    """Two volumes, and what they say that they may lose."""
    runs = [
        dataclasses.replace(
            make_run({FACTOR: name}, number, {"iops": rate + number}),
            facts={f"volumes.{name}.may_lose": lost[name]} if name in lost else {},
        )
        for name, rate in ((baseline, 1000.0), (variant, 2000.0))
        for number in (1, 2, 3)
    ]
    known = {
        "variants": [stated({FACTOR: name}, settings={"volumes": VOLUMES}, volumes=[name]) for name in VOLUMES],
    }
    rules = {"rounds": 3, "baseline": {FACTOR: baseline}}
    whole = make_campaign({baseline: []}, compare=rules, study=known, extra_runs=runs)
    return analyse(dataclasses.replace(whole, planned=len(runs)))


@pytest.mark.parametrize("single", ["one", "striped"])
def test_the_last_copy_of_a_mirror_is_no_price_beside_a_single_volume(single: str) -> None:
    found = compared("mirror", single, {"mirror": ONE_LEFT})
    assert (found.comparisons[0].losses, found.losses) == ((), ())
    assert "may lose data" not in found.headline
    found = compared(single, "mirror", {"mirror": ONE_LEFT})
    assert (found.comparisons[0].spared, found.losses) == ((), ())


def test_it_is_one_beside_a_mirror_that_is_whole() -> None:
    found = compared("mirror", "whole", {"mirror": ONE_LEFT, "whole": "nothing: 2 copies, any 1 of them may fail"})
    assert found.comparisons[0].losses == (ONE_LEFT,)
    assert [words for _, words in found.losses] == [ONE_LEFT]


def test_a_cache_is_one_beside_a_single_volume() -> None:
    assert compared("mirror", "one", {"mirror": CACHE}).comparisons[0].losses == (CACHE,)


@pytest.mark.parametrize(("rate", "told"), [(0.2, False), (114.0, True)])
def test_a_copy_that_does_next_to_nothing_is_not_told(rate: float, told: bool) -> None:
    facts = {"volumes.mirror.resync_left_bytes": "1000000000", "volumes.mirror.resync_bytes": "2000000"}
    run = dataclasses.replace(make_run({FACTOR: "mirror"}, 1, {"iops": 1.0, "resync_mb_per_s": rate}), facts=facts)
    study = {"variants": [stated({FACTOR: "mirror"}, settings={"volumes": VOLUMES}, volumes=["mirror"])]}
    found = [words for _, words in transients([run], study, ())]
    assert [words.startswith("copied its new mirror all the time (114 MB/s)") for words in found] == [True] * told
