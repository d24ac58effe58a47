"""D34: a layer of Linux that is slow above a fast disk: encryption, thin volumes, a snapshot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from make_iostat import Disk, disk, iostat
from test_surroundings import advice, diagnosed

COUNT = 120
RATE = 12000.0 * np.random.default_rng(21).normal(1, 0.02, COUNT)
NOISE = np.random.default_rng(22).normal(1, 0.08, COUNT)


def took(latency_ms: float | np.ndarray, rate: np.ndarray = RATE) -> Disk:
    return disk(rate, latency_ms * NOISE)


@pytest.mark.parametrize("name", ["dm-0", "luks-8f3c", "vg0-data"])
def test_the_time_is_lost_in_the_layer_and_not_in_the_disk(tmp_path: Path, name: str) -> None:
    """`iostat -N` prints the names of the device mapper."""
    found = diagnosed(iostat(tmp_path / "log", {name: took(11.7), "nvme0n1": took(0.17)}))
    assert (found.verdict.rule, found.findings[0].subject) == ("D34", name), found.verdict
    assert "A faster disk changes nothing" in found.verdict.sentence
    assert "142 outstanding in" in found.findings[0].evidence[0].sentence
    for command in (f"lsblk -s /dev/{name}", "dmsetup table", "--perf-no_read_workqueue"):
        assert command in advice(found)
    assert "L2" not in {each.rule for each in found.findings}


def test_the_lowest_layer_that_loses_time_is_named(tmp_path: Path) -> None:
    """A logical volume on an encrypted disk."""
    disks = {"dm-1": took(11.9), "dm-0": took(11.7), "nvme0n1": took(0.17)}
    found = diagnosed(iostat(tmp_path / "log", disks))
    assert [each.subject for each in found.findings if each.rule == "D34"] == ["dm-0"]


def test_a_layer_that_is_slow_for_a_part_of_the_time(tmp_path: Path) -> None:
    slow = np.where((np.arange(COUNT) >= 40) & (np.arange(COUNT) < 70), 11.7, 0.2)
    found = diagnosed(iostat(tmp_path / "log", {"dm-0": took(slow), "sdb": took(0.17)}))
    assert found.verdict.rule == "D34", found.verdict
    assert "for the same requests, in 2.5 min of 10 min" in found.verdict.sentence


@pytest.mark.parametrize(
    "below",
    [
        took(9.0),  # the disk is slow
        took(2.0),  # 24 outstanding: its queue is what holds them
        took(0.17, RATE * 0.8),  # a cache, or another disk
        took(0.17, RATE * np.random.default_rng(23).normal(1, 0.1, COUNT)),  # as many on average, and at other times
    ],
)
def test_time_that_is_not_known_to_be_lost_above(tmp_path: Path, below: Disk) -> None:
    found = diagnosed(iostat(tmp_path / "log", {"dm-0": took(11.7), "nvme0n1": below}))
    assert "D34" not in {each.rule for each in found.findings}, found.verdict


def test_the_slow_half_of_a_mirror_is_no_layer(tmp_path: Path) -> None:
    found = diagnosed(iostat(tmp_path / "log", {"sda": took(11.7), "sdb": took(0.17)}))
    assert "D34" not in {each.rule for each in found.findings}, found.verdict


def test_full_processors_are_told_beside_the_layer(tmp_path: Path) -> None:
    """Encryption waits for them, too."""
    log = iostat(tmp_path / "log", {"dm-0": took(11.7), "nvme0n1": took(0.17)})
    head = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n 60.00 0.00 35.00 0.00 0.00 5.00\n\nDevice r/s"
    log.write_text(log.read_text().replace("Device r/s", head))
    found = diagnosed(log)
    assert found.verdict.rule == "D34", found.verdict
    assert "95.0 % busy" in found.findings[0].evidence[1].sentence
    assert "processor time" in advice(found)
