"""More drives or disks than a machine takes."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from analysis.conftest import FACTOR, make_campaign, make_run, stated
from fathom.analysis.analyse import analyse

DRIVE = "aws/r5d.4xlarge/nvme"


def told(volumes: dict[str, Any], driven: list[str]) -> list[str]:
    made = make_run({FACTOR: "a"}, 1, {"iops": 100.0})
    study = {"compare": None, "variants": [stated({FACTOR: "a"}, settings={"volumes": volumes}, volumes=driven)]}
    found = analyse(dataclasses.replace(make_campaign({"a": []}, study=study, extra_runs=[made]), planned=1))
    return [text for one in found.findings if one.rule == "attached" for text in (one.what, *map(str, one.evidence))]


def stripe(model: str, count: int) -> dict[str, Any]:
    drives = {f"n{number}": {"kind": "model", "model": model} for number in range(count)}
    return {**drives, "all": {"kind": "stripe", "members": list(drives)}}


def adapters(model: str, count: int, buses: int) -> dict[str, Any]:
    disks = {
        f"d{number}": {"kind": "adapter", "model": model, "backing": f"m{number}", "shared": f"scsi{number % buses}"}
        for number in range(count)
    }
    return {**{f"m{number}": {"kind": "null"} for number in range(count)}, **disks}


@pytest.mark.parametrize(
    ("model", "count", "words"),
    [
        (DRIVE, 2, None),
        (DRIVE, 3, "3 volumes are local drives of aws/r5d.4xlarge, which has 2 local drives."),
        ("aws/i3.large/nvme", 2, "2 volumes are local drives of aws/i3.large, which has 1 local drive."),
        ("aws/gp3", 9, None),
        ("mine/nvme", 9, None),
    ],
)
def test_local_drives_that_an_instance_has_not(model: str, count: int, words: str | None) -> None:
    assert told(stripe(model, count), ["all"]) == ([] if words is None else [words])


@pytest.mark.parametrize(("machine", "count", "most"), [("azure/ebdsv5.e4bds", 8, None), ("azure/ebdsv5.e4bds", 9, 8)])
@pytest.mark.parametrize("apart", [False, True])
def test_disks_that_an_instance_does_not_take(machine: str, count: int, most: int | None, *, apart: bool) -> None:
    disks = stripe("azure/premium-ssd", count)
    limited = {"kind": "throttle", "model": machine}
    if apart:
        volumes = {**disks, **{f"t{number}": {**limited, "backing": f"n{number}"} for number in range(count)}}
        driven = [f"t{number}" for number in range(count)]
    else:
        volumes, driven = {**disks, "box": {**limited, "backing": "all"}}, ["box"]
    words = [] if most is None else [f"{count} disks are attached to {machine}, which takes {most}."]
    assert told(volumes, driven) == words


def test_local_drives_of_a_machine_are_no_disks_attached_to_it() -> None:
    local = {f"l{number}": {"kind": "model", "model": "azure/nvme"} for number in range(9)}
    volumes = {**local, "all": {"kind": "stripe", "members": list(local)}}
    assert told({**volumes, "box": {"kind": "throttle", "model": "aws/r5d.4xlarge", "backing": "all"}}, ["box"]) == []


def test_drives_that_nothing_uses_are_not_counted() -> None:
    assert told(stripe(DRIVE, 3), ["n0"]) == []


@pytest.mark.parametrize(
    ("model", "count", "buses", "words"),
    [
        ("vmware/pvscsi", 64, 1, None),
        ("vmware/pvscsi", 65, 1, "scsi0 is one vmware/pvscsi with 65 disks, and takes 64."),
        ("vmware/lsi-logic-sas", 16, 1, "scsi0 is one vmware/lsi-logic-sas with 16 disks, and takes 15."),
        ("vmware/pvscsi", 5, 5, "5 adapters are vmware/pvscsi, of which a machine takes 4."),
    ],
)
def test_disks_that_an_adapter_does_not_take(model: str, count: int, buses: int, words: str | None) -> None:
    found = told(adapters(model, count, buses), [f"d{number}" for number in range(count)])
    assert [text.lower() for text in found] == ([] if words is None else [words.lower()])


def test_a_volume_may_have_the_name_of_a_kind() -> None:
    volumes = {
        "mirror": {"kind": "stripe", "members": ["stripe"]},
        "stripe": {"kind": "mirror", "legs": ["a", "b"], "shared": "stripe"},
        "a": {"kind": "model", "model": "aws/i3.large/nvme"},
        "b": {"kind": "model", "model": "aws/i3.large/nvme"},
    }
    assert told(volumes, ["mirror"]) == ["2 volumes are local drives of aws/i3.large, which has 1 local drive."]
