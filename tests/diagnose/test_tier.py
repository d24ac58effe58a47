"""Which kind of storage a disk is: as the user says, as the kernel says of single disks, else unknown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from test_surroundings import COUNT, iostat

from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Outcome, diagnose
from fathom.diagnose.evidence import limits
from fathom.diagnose.evidence.system import system_of
from fathom.diagnose.evidence.tier import tier_of
from fathom.diagnose.tiers import tell
from fathom.errors import UsageError

KNOWN = limits.load()
RANDOM = np.random.default_rng(4)


def rotating(path: Path) -> Path:
    """A healthy array of rotating disks: 7 ms at 300 IOPS."""
    iops = 300 * RANDOM.normal(1, 0.1, COUNT)
    return iostat(path, iops=iops, queue=iops * 0.007 * RANDOM.normal(1, 0.02, COUNT), device="sda")


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ([], Outcome.UNKNOWN),
        (["sda=hdd"], Outcome.HEALTHY),
        (["HDD"], Outcome.HEALTHY),
        (["sda=rotating disk"], Outcome.HEALTHY),
        (["hdd", "sda=nvme"], Outcome.UNKNOWN),
    ],
)
def test_what_the_user_says_decides_what_is_healthy(tmp_path: Path, said: list[str], outcome: Outcome) -> None:
    with reader.read([rotating(tmp_path / "log")]) as log:
        tell(log, said, KNOWN)
        assert diagnose(log, KNOWN).verdict.outcome is outcome


def test_a_tier_of_the_users_limits_has_its_own_target(tmp_path: Path) -> None:
    own = tmp_path / "limits.toml"
    own.write_text('[[tier]]\nname = "our array"\ntarget_s = 0.009\nsource = "contract"\n')
    known = limits.load(own)
    with reader.read([rotating(tmp_path / "log")]) as log:
        tell(log, ["sda=our array"], known)
        system = system_of(log, known)
    assert tier_of(system, system.disks[0]).target_s == 0.009


@pytest.mark.parametrize(
    ("said", "words"), [("sdx=hdd", 'no disk "sdx".*they have sda'), ("sda=tape", 'no kind "tape".*hdd')]
)
def test_mistakes_are_told(tmp_path: Path, said: str, words: str) -> None:
    with reader.read([rotating(tmp_path / "log")]) as log, pytest.raises(UsageError) as error:
        tell(log, [said], KNOWN)
    first, second = words.split(".*")
    assert first in str(error.value)
    assert second in (error.value.remedy or "")


@pytest.mark.parametrize(
    ("name", "facts", "wanted"),
    [
        ("sda", [("rotational", "yes", "sda"), ("model", "ST4000NM0035-1V4", "sda")], "rotating disk"),
        ("sda", [("rotational", "no", "sda"), ("model", "WDC WDS500G2B0A", "sda")], "disk of unknown kind"),
        ("sda", [("rotational", "yes", "sda"), ("model", "PERC H730 Mini", "sda")], "disk of unknown kind"),
        ("sda", [("rotational", "yes", "sda"), ("model", "Virtual disk", "sda")], "disk of unknown kind"),
        ("vda", [("rotational", "yes", "vda")], "disk of unknown kind"),
        ("md0", [("members", "sda1,sdb1", "md0"), ("rotational", "yes", "sda"), ("model", "HGST HUS726T4", "sda"),
                 ("rotational", "yes", "sdb"), ("model", "HGST HUS726T4", "sdb")], "rotating disk"),
        ("md0", [("members", "sda1,sdb1", "md0"), ("rotational", "yes", "sda"), ("model", "HGST HUS726T4", "sda"),
                 ("rotational", "no", "sdb"), ("model", "Samsung SSD 870", "sdb")], "disk of unknown kind"),
    ],
)  # fmt: skip
def test_the_kernels_word_counts_for_single_disks(
    tmp_path: Path, name: str, facts: list[tuple[str, str, str]], wanted: str
) -> None:
    counters = [f"{8 * at} 0 {64 * at} {16 * at} 0 0 0 0 0 {9 * at} {16 * at}" for at in range(4)]
    lines = [{"t": at * 10**9, "disk": {name: cells}} for at, cells in enumerate(counters, 1)]
    path = tmp_path / "log"
    head = {"fathom-record": 1, "host": "db1", "facts": facts}
    path.write_text("\n".join(json.dumps(line) for line in (head, *lines)) + "\n")
    with reader.read([path]) as log:
        system = system_of(log, KNOWN)
    (disk,) = system.disks
    assert tier_of(system, disk).name == wanted


@pytest.mark.skipif(not Path("/sys/block").exists(), reason="no Linux")
def test_a_recording_says_what_the_kernel_says() -> None:
    from fathom.diagnose.facts import FACTS
    from fathom.host.recorder import facts

    found = facts()
    assert {name for name, _, _ in found} <= FACTS.keys()
    assert {value for name, value, _ in found if name == "rotational"} <= {"yes", "no"}
