"""The analysis sees the settings that were in force, not those that were overridden."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from fathom.analysis.settings import effective_study, is_saturating, setting
from fathom.results import Campaign

STUDY = {
    "workload": {"kind": "io", "outstanding": 32, "duration": "60s"},
    "virtual": {"workload.outstanding": 256, "volumes.data.size": "8TiB"},
    "quick": {"workload.duration": "1s", "workload.outstanding": 2},
}


def test_setting_is_the_variants_level_before_the_studys() -> None:
    assert setting(STUDY, {"workload.outstanding": 8}, "workload.outstanding") == 8
    assert setting(STUDY, {}, "workload.outstanding") == 32
    assert setting(STUDY, {}, "workload.kind.deeper") is None


def test_overrides_of_the_clock_and_of_quick_are_applied_in_that_order(campaign: Callable[..., Campaign]) -> None:
    real = campaign({"a": [1.0]}, study=STUDY)
    assert effective_study(real)["workload"]["outstanding"] == 32
    virtual = campaign({"a": [1.0]}, study=STUDY, clock="virtual")
    assert effective_study(virtual)["workload"] == {"kind": "io", "outstanding": 256, "duration": "60s"}
    assert effective_study(virtual)["volumes"] == {"data": {"size": "8TiB"}}
    quick = dataclasses.replace(virtual, quick=True)
    assert effective_study(quick)["workload"] == {"kind": "io", "outstanding": 2, "duration": "1s"}
    assert virtual.study["workload"]["outstanding"] == 32


def test_users_that_pause_do_not_saturate() -> None:
    assert is_saturating(STUDY, {})
    assert not is_saturating({"workload": {"think": "1ms"}}, {})
    assert not is_saturating({}, {"workload.rate": 1000})


SETS = {
    "sets": {"machine": {"small": {"workload.outstanding": 4, "volumes.data.size": "1GiB"}, "2": {}}},
    "workload": {"outstanding": 32},
}


def test_a_set_gives_values_to_several_paths(campaign: Callable[..., Campaign]) -> None:
    assert setting(SETS, {"machine": "small"}, "workload.outstanding") == 4
    assert setting(SETS, {"machine": 2}, "workload.outstanding") == 32
    chosen = campaign({"a": [1.0]}, study={**SETS, "real": {"machine": "small"}})
    assert effective_study(chosen)["workload"]["outstanding"] == 4
    assert effective_study(chosen)["volumes"] == {"data": {"size": "1GiB"}}


def test_no_think_time_is_written_in_many_ways() -> None:
    for nothing in ("0s", "0ms", "0", 0, "0.0 s"):
        assert is_saturating({"workload": {"think": nothing}}, {})
