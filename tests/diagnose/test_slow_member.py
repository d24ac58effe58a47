"""D27: the slow one of disks that share a load evenly, and what waits for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from make_iostat import Disk, disk, iostat
from make_pdh import pdh
from test_surroundings import diagnosed

from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import diagnose
from fathom.diagnose.evidence import limits
from fathom.diagnose.evidence.system import system_of
from fathom.diagnose.rules.slow_member import _stacked

COUNT = 120
LATER = np.arange(COUNT) >= 50


def member(seed: int, latency_ms: np.ndarray | float, percent: float, writes: float = 0.3) -> Disk:
    random = np.random.default_rng(seed)
    return disk(180 * random.normal(1, 0.04, COUNT), np.full(COUNT, latency_ms) * random.normal(1, 0.03, COUNT),
                writes=writes, percent=percent)  # fmt: skip


def stripe(slow: str = "sdd", writes: float = 0.3) -> dict[str, Disk]:
    """Four disks of which one takes 23 ms, then 109, as more is asked."""
    names = ("sdb", "sdc", "sdd", "sde")
    return {
        name: member(place, np.where(LATER, 109.0, 23.0), 99.5, writes) if name == slow else member(place, 0.9, 15.0)
        for place, name in enumerate(names)
    }


def over(members: dict[str, Disk]) -> Disk:
    total = sum(each.reads + each.writes for each in members.values())
    return disk(np.asarray(total), sum(each.load for each in members.values()) / total * 1e3)


def test_what_lies_over_a_slow_disk_waits_for_it(tmp_path: Path) -> None:
    members = stripe()
    found = diagnosed(iostat(tmp_path / "log", {"dm-0": over(members), **members}))
    assert found.verdict.rule == "D27"
    assert "sdd is the slow one of 4 disks that share a load evenly, and dm-0 waits for it" in found.verdict.sentence
    assert not {"D20", "D26", "L2"} & {each.rule for each in found.findings}
    remedy = found.findings[0].remedies[0]
    assert remedy.commands[:2] == ("Linux: multipath -ll", "Linux: smartctl -x /dev/sdd")
    assert "Where dm-0 is multipath, it is one path" in remedy.action


@pytest.mark.parametrize("above", ["md0", None])
def test_what_no_device_mapper_is_over_is_no_path(tmp_path: Path, above: str | None) -> None:
    members = stripe()
    found = diagnosed(iostat(tmp_path / "log", members | ({above: over(members)} if above else {})))
    assert found.verdict.rule == "D27"
    assert "Linux: multipath -ll" not in found.findings[0].remedies[0].commands


def test_it_is_found_without_what_lies_over_it(tmp_path: Path) -> None:
    found = diagnosed(iostat(tmp_path / "log", stripe()))
    assert (found.verdict.rule, found.verdict.confidence) == ("D27", 0.65)


@pytest.mark.parametrize(("times", "many", "there"), [(3.0, 4, True), (3.0, 3, False), (2.4, 4, False)])
def test_three_times_as_slow_is_a_suspicion(tmp_path: Path, times: float, many: int, *, there: bool) -> None:
    """Beside three others that are alike, for three quarters of the time."""
    slow = member(9, np.where(np.arange(COUNT) >= 30, 3.7 * times, 3.7), 90.0)
    members = {f"sd{'bcde'[place]}": member(place, 3.7, 60.0) for place in range(many - 1)} | {"sdf": slow}
    found = [each for each in diagnosed(iostat(tmp_path / "log", members)).findings if each.rule == "D27"]
    assert [each.confidence for each in found] == [0.45] * there
    if there:
        assert f"sdf may be the slow one of {many} disks that share a load evenly" in found[0].what


def test_disks_with_loads_of_their_own_are_no_stripe(tmp_path: Path) -> None:
    """As many requests by chance, but one is written and the others are read."""
    found = diagnosed(iostat(tmp_path / "log", stripe(writes=1.0)))
    assert "D27" not in {each.rule for each in found.findings}


def test_two_disks_of_one_rate_are_a_stripe_for_certain_only_below_a_device(tmp_path: Path) -> None:
    members = {name: each for name, each in stripe().items() if name in {"sdc", "sdd"}}
    alone = diagnosed(iostat(tmp_path / "log", members))
    assert alone.verdict.rule != "D27"
    (doubt,) = (each for each in alone.findings if each.rule == "D27")
    assert (doubt.confidence, "may be the slow one of 2 disks" in doubt.what) == (0.45, True)
    found = diagnosed(iostat(tmp_path / "log", {"md0": over(members), **members}))
    assert found.verdict.rule == "D27"


def test_a_mirror_waits_for_its_slow_disk(tmp_path: Path) -> None:
    """Reads go to one of the disks, writes to both: the mirror does fewer than both together."""
    members = {name: each for name, each in stripe().items() if name in {"sdc", "sdd"}}
    fast, slow = members["sdc"], members["sdd"]
    reads, writes = fast.reads + slow.reads, (fast.writes + slow.writes) / 2
    read_ms = (fast.reads * fast.read_ms + slow.reads * slow.read_ms) / reads
    mirror = Disk(reads, read_ms, writes, slow.write_ms, slow.percent)
    found = diagnosed(iostat(tmp_path / "log", {"md0": mirror, **members}))
    assert found.verdict.rule == "D27"
    assert "sdd is the slow one of 2 disks that share a load evenly, and md0 waits for it" in found.verdict.sentence
    said = " ".join(each.sentence for each in found.findings[0].evidence)
    assert "md0 reads the sum of them and writes to each" in said


LAYERS = """title = "a cache over a stripe behind a slow throttle"
clock = "virtual"
[volumes.one]
kind = "model"
model = "aws/gp3"
size = "1TiB"
[volumes.other]
kind = "model"
model = "aws/gp3"
size = "1TiB"
[volumes.stripe]
kind = "stripe"
members = ["one", "other"]
[volumes.nvme]
kind = "model"
model = "aws/r5d.4xlarge/nvme"
[volumes.cached]
kind = "writeback"
backing = "stripe"
cache = "nvme"
size = "1GiB"
[volumes.limited]
kind = "throttle"
backing = "cached"
iops = 500
[workload]
kind = "io"
volumes = ["limited"]
read = "100%"
size = "8KiB"
outstanding = 64
ramp = "0s"
duration = "40s"
"""


def test_layers_of_one_stack_share_no_load(tmp_path: Path) -> None:
    """A throttle does the requests of the cache below it, and they wait in it: it is no slow member."""
    study = tmp_path / "layers.toml"
    study.write_text(LAYERS)
    command = [sys.executable, "-m", "fathom", "simulate", str(study), "-q", "--rounds", "1", "--no-sensitivity"]
    subprocess.run([*command, "--out", str(tmp_path / "out")], check=True, capture_output=True)
    with reader.read([tmp_path / "out"]) as log:
        system = system_of(log, limits.load())
        assert "D27" not in {each.rule for each in diagnose(log).findings}
    told = {(fact.name, fact.subject): fact.value for fact in system.facts if fact.name in {"members", "stands_on"}}
    assert told == {
        ("members", "stripe"): "one,other",
        ("stands_on", "cached"): "stripe,nvme",
        ("stands_on", "limited"): "cached",
    }
    assert "workload" not in {disk.device for disk in system.disks}
    stacked = _stacked(system)
    assert stacked["one"] == {"limited", "cached", "stripe"}
    assert stacked["stripe"] == {"limited", "cached", "stripe", "nvme", "one", "other"}


def test_a_disk_without_bytes_ends_nothing(tmp_path: Path) -> None:
    """Bytes of reads were recorded and those of writes were not, and one of the disks writes only."""
    paths, rows = [], []
    for name in ("1 E:", "2 F:"):
        counters = ("Disk Reads/sec", "Disk Writes/sec", "Disk Read Bytes/sec", "Avg. Disk sec/Write")
        paths += [rf"\\SQL01\PhysicalDisk({name})\{counter}" for counter in counters]
    for at in range(120):
        rows.append(["50", str(100 + at % 2), "409600", "0.001", "0", str(150 + at % 2), "0", "0.001"])
    log = tmp_path / "log"
    log.write_text(pdh(rows, paths))
    assert diagnosed(log).verdict.sentence


def passed_on(names: tuple[str, str, str], *, apart: float = 0.0) -> dict[str, Disk]:
    """A disk, one that stands on it and one on that: the lowest has a few requests of its own, the highest waits."""
    random = np.random.default_rng(7)
    rate = 200 * random.normal(1, 0.1, COUNT)
    made = {}
    for name, more, latency_ms in zip(names, (1.03, 1.01, 1.0), (0.8, 0.95, 14.0), strict=True):
        made[name] = disk(rate * more * random.normal(1, apart, COUNT), latency_ms * random.normal(1, 0.02, COUNT))
    return made


@pytest.mark.parametrize("names", [("sda", "sdb", "sdc"), ("vda", "loop0", "loop1")])
def test_what_stands_on_a_disk_is_no_member_beside_it(tmp_path: Path, names: tuple[str, str, str]) -> None:
    """Each counts the requests that it passes on: they share no load, and no disk is slow."""
    found = diagnosed(iostat(tmp_path / "log", passed_on(names)))
    assert "D27" not in {each.rule for each in found.findings}


def test_members_do_now_more_and_now_less_than_each_other(tmp_path: Path) -> None:
    assert diagnosed(iostat(tmp_path / "log", passed_on(("sda", "sdb", "sdc"), apart=0.03))).verdict.rule == "D27"


def test_a_loop_is_no_member_beside_the_disk_of_its_file(tmp_path: Path) -> None:
    found = diagnosed(iostat(tmp_path / "log", passed_on(("vda", "vdb", "loop1"), apart=0.03)))
    assert "D27" not in {each.rule for each in found.findings}


def test_what_is_done_before_the_slow_disk_does_not_wait_for_it(tmp_path: Path) -> None:
    """A device that does as many requests as two others by chance, and far sooner."""
    members = {name: each for name, each in stripe().items() if name in {"sdc", "sdd"}}
    total = sum(each.reads + each.writes for each in members.values())
    found = diagnosed(iostat(tmp_path / "log", {"sda": disk(np.asarray(total), np.full(COUNT, 0.4)), **members}))
    assert found.verdict.rule != "D27"


def test_disks_that_are_asked_differently_in_the_slow_time_share_no_load_then(tmp_path: Path) -> None:
    few = np.arange(COUNT) >= 100
    members = {name: member(place, 0.9, 15.0) for place, name in enumerate(("sdb", "sdc"))}
    slow = member(3, np.where(few, 109.0, 0.9), 99.5)
    members["sdd"] = disk(np.where(few, 0.6, 1.05) * (slow.reads + slow.writes), np.where(few, 109.0, 0.9))
    found = diagnosed(iostat(tmp_path / "log", members))
    assert "D27" not in {each.rule for each in found.findings}
