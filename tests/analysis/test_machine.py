"""Volumes behind instances whose limits are not theirs."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from analysis.conftest import FACTOR, make_campaign, make_run, stated
from fathom.analysis.analyse import analyse
from fathom.finding import Finding


def told(disk: str, machine: str) -> list[Finding]:
    """What is said of a stripe of two such disks behind an instance."""
    made = make_run({FACTOR: "a"}, 1, {"iops": 100.0})
    volumes: dict[str, Any] = {
        "one": {"kind": "model", "model": disk},
        "two": {"kind": "model", "model": disk},
        "both": {"kind": "stripe", "members": ["one", "two"]},
        "host": {"kind": "throttle", "model": machine, "backing": "both"},
    }
    study = {"compare": None, "variants": [stated({FACTOR: "a"}, settings={"volumes": volumes})]}
    found = analyse(dataclasses.replace(make_campaign({"a": []}, study=study, extra_runs=[made]), planned=1))
    return [one for one in found.findings if one.rule == "machine"]


@pytest.mark.parametrize(
    ("disk", "machine", "what", "action"),
    [
        ("aws/gp3", "azure/edsv5.e8ds", "aws/gp3 is no volume of azure/edsv5.e8ds", "an instance of the catalogue for"),
        (
            "azure/premium-ssd-v2",
            "azure/edsv6.e8ds",
            "the limits of azure/edsv6.e8ds are not those for azure/premium-ssd-v2",
            "Take the limits of azure/edsv6-premium-v2.e8ds.",
        ),
        (
            "azure/premium-ssd-v2",
            "azure/edsv5.e8ds",
            "the limits of azure/edsv5.e8ds are not those",
            "Take an instance of the catalogue for azure/premium-ssd-v2.",
        ),
        ("azure/ultra-disk", "azure/lsv3.l8s", "azure/ultra-disk", "Take the limits of azure/lsv3-premium-v2.l8s."),
        (
            "azure/premium-ssd",
            "azure/edsv6-premium-v2.e8ds",
            "azure/premium-ssd",
            "Take the limits of azure/edsv6.e8ds.",
        ),
    ],
)
def test_limits_that_are_not_for_a_disk_are_told(disk: str, machine: str, what: str, action: str) -> None:
    (found,) = told(disk, machine)
    assert what in found.what
    assert action in found.remedies[0].action


@pytest.mark.parametrize(
    ("disk", "machine"),
    [
        ("aws/gp3", "aws/r6i.large"),
        ("azure/premium-ssd", "azure/edsv5.e8ds"),
        ("azure/ultra-disk", "azure/edsv6-premium-v2.e8ds"),
        ("mine/disk", "azure/edsv5.e8ds"),
        ("aws/gp3", ""),
    ],
)
def test_nothing_is_told_of_limits_that_fit(disk: str, machine: str) -> None:
    assert told(disk, machine) == []
