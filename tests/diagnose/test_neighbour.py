"""D20: what slows a volume at no more load of its own, and what shows it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from make_iostat import Disk, disk, iostat
from test_surroundings import diagnosed

from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import diagnose
from fathom.diagnose.evidence import limits

COUNT = 240
PLACES = np.arange(COUNT)
SLOW = (PLACES >= 60) & (PLACES < 120)


def noise(seed: int, spread: float = 0.02) -> np.ndarray:
    return np.random.default_rng(seed).normal(1, spread, COUNT)


def test_the_slow_time_is_compared_with_times_of_as_much_load(tmp_path: Path) -> None:
    """Half of the log is a quiet night: it has less load, and says nothing of the slow time."""
    iops = np.where(PLACES >= COUNT // 2, 300.0, 1300.0) * noise(1)
    iops[:30] *= 1.2
    latency = np.where(SLOW, 46.0, 1.1) * noise(2)
    made = disk(iops, latency, percent=np.where(SLOW, 100.0, 40.0))
    found = diagnosed(iostat(tmp_path / "log", {"sda": made}))
    assert found.verdict.rule == "D20"
    sentence = found.findings[0].evidence[0].sentence
    assert "ms in the slow time; 1,4" in sentence
    assert "in 60 other intervals with as many or more" in sentence
    assert "300 IOPS" not in sentence


def written_through(seed: int = 3) -> Disk:
    """The cache is off in the slow time: reads take as long as before."""
    iops = np.where(SLOW, 670.0, 1030.0) * noise(seed)
    write_ms = np.where(SLOW, 9.6, 0.27) * noise(seed + 1)
    return disk(iops, 4.3 * noise(seed + 2), write_ms, writes=0.67, percent=np.where(SLOW, 99.9, 83.0))


def test_writes_alone_are_slowed_by_a_cache_that_is_off(tmp_path: Path) -> None:
    found = diagnosed(iostat(tmp_path / "log", {"sda": written_through()}))
    assert found.verdict.rule == "D20"
    assert "Writes to sda take 9.6" in found.verdict.sentence
    assert "the write cache below it is full or off" in found.verdict.sentence
    actions = [each.action for each in found.findings[0].remedies]
    assert len(actions) == 1
    assert "write cache" in actions[0]
    assert not any("storage team" in each for each in actions)


def test_a_neighbour_slows_reads_as_well(tmp_path: Path) -> None:
    slow = np.where(SLOW, 6.0, 1.0)
    made = disk(700.0 * noise(6), 1.2 * slow * noise(7), 0.6 * slow * noise(8), writes=0.6, percent=70.0)
    found = diagnosed(iostat(tmp_path / "log", {"sda": made}))
    assert found.verdict.rule == "D20"
    assert "something else slows it" in found.verdict.sentence


def test_a_volume_of_a_cloud_has_no_cache_to_look_at(tmp_path: Path) -> None:
    found = diagnosed(iostat(tmp_path / "log", {"nvme1n1": written_through()}, kernel="6.1.0-1036-aws"))
    assert "full or off" not in " ".join(each.what for each in found.findings)


def test_a_disk_that_becomes_slow_at_a_low_rate_has_no_full_queue(tmp_path: Path) -> None:
    """800 IOPS at 0.9 ms need less than one slot: no queue holds them back."""
    iops = np.where(SLOW, 800.0, 1200.0) * noise(9)
    latency = np.where(SLOW, 54.0, 0.9) * noise(10)
    found = diagnosed(iostat(tmp_path / "log", {"sda": disk(iops, latency, percent=np.where(SLOW, 100.0, 60.0))}))
    assert found.verdict.rule == "D20"
    assert not any(each.rule == "D1" for each in found.findings)


def test_requests_that_are_alike_are_more_likely_slowed_by_others_than_by_a_queue(tmp_path: Path) -> None:
    iops = np.where(SLOW, 8000.0, 12000.0) * noise(11)
    latency = np.where(SLOW, 12.0, 0.9) * noise(12)
    found = diagnosed(iostat(tmp_path / "log", {"sda": disk(iops, latency)}))
    assert found.verdict.rule == "D20"
    assert max((each.confidence for each in found.findings if each.rule == "D1"), default=0.0) <= 0.5


@pytest.mark.parametrize(
    ("kernel", "scatter", "rule"),
    [("6.1.75-99.163.amzn2023.x86_64", 0.002, "D7"), ("6.1.0-18-amd64", 0.002, None), ("6.1.0-18-amd64", 0.03, "D20")],
)
def test_a_lower_rate_that_never_moves_is_a_limit_and_no_neighbours(
    tmp_path: Path, kernel: str, scatter: float, rule: str | None
) -> None:
    """4,900 IOPS, then flat 2,000: others would leave now more and now less."""
    later = PLACES >= 90
    iops = np.where(later, 2000.0 * noise(13, scatter), 4900.0 * noise(14, 0.08))
    latency = np.where(later, 24.0, 1.1) * noise(15)
    found = diagnosed(iostat(tmp_path / "log", {"nvme1n1": disk(iops, latency)}, kernel=kernel))
    assert found.verdict.rule == rule, found.verdict
    named = {each.rule for each in found.findings}
    assert ("D7" in named, "D20" in named) == (scatter < 0.01, scatter > 0.01)
    if rule == "D7":
        assert "it fell to 2,000 IOPS and stays there, as at a limit" in found.verdict.sentence


@pytest.mark.parametrize(("share", "rule"), [(0.66, "D20"), (0.85, "L2")])
def test_more_writes_are_more_load(tmp_path: Path, share: float, rule: str) -> None:
    """A checkpoint writes beside the usual requests: as many in all, but of another kind."""
    iops, latency = 640.0 * noise(16, 0.06), np.where(SLOW, 17.0, 2.5) * noise(17)
    writes = np.where(SLOW, share, 0.66) * iops
    found = diagnosed(iostat(tmp_path / "log", {"sda": Disk(iops - writes, latency, writes, latency, 90.0 * noise(1))}))
    named = {each.rule for each in found.findings}
    assert rule in named
    assert ("D20" in named) is (rule == "D20")


def test_a_limit_after_a_higher_one_is_no_neighbour(tmp_path: Path) -> None:
    """Both hardly scatter. A few intervals were longer than the log says."""
    later = PLACES >= 90
    iops = np.where(later, 300.0 * noise(18, 0.001), 2500.0 * noise(19, 0.02))
    iops[100::12] *= 1.06
    latency = np.where(later, 25.6, 1.3) * noise(20)
    found = diagnosed(iostat(tmp_path / "log", {"sdb": disk(iops, latency, writes=0.0)}))
    assert [each.rule for each in found.findings if each.rule in {"D7", "D20"}] == ["D7"]
    assert "2,557 IOPS it fell to 300 IOPS and stays there, as at a limit." in found.verdict.sentence


def test_a_limit_of_reads_alone_holds_them(tmp_path: Path) -> None:
    later = PLACES >= 90
    reads = np.where(later, 200.0 * noise(21, 0.001), 310.0 * noise(22, 0.05))
    writes = 7.0 * noise(23, 0.5)
    latency = np.where(later, 18.0, 0.6) * noise(24)
    found = diagnosed(iostat(tmp_path / "log", {"sdb": Disk(reads, latency, writes, latency, 90.0 * noise(1))}))
    assert "it fell to 200 IOPS of reads and stays there" in found.verdict.sentence
    assert "D20" not in {each.rule for each in found.findings}


def test_a_few_writes_that_come_by_the_clock_are_at_no_limit(tmp_path: Path) -> None:
    """Two writes a second are left while reads vary as others leave room for them."""
    later = PLACES >= 90
    reads, writes = 250.0 * noise(25, 0.1), np.where(later, 2.0, 6.0 * noise(26, 0.2))
    latency = np.where(later, 20.0, 0.6) * noise(27)
    found = diagnosed(iostat(tmp_path / "log", {"nvme1n1": Disk(reads, latency, writes, latency, 90.0 * noise(1))}))
    assert "D7" not in {each.rule for each in found.findings}


def test_a_fall_to_a_limit_that_the_user_names_is_sure(tmp_path: Path) -> None:
    later = PLACES >= 90
    iops = np.where(later, 300.0 * noise(18, 0.001), 2500.0 * noise(19, 0.02))
    path = iostat(tmp_path / "log", {"sdb": disk(iops, np.where(later, 25.6, 1.3) * noise(20))})
    table = tmp_path / "limits.toml"
    table.write_text('[[volume]]\nname = "our array"\niops = 300\nsource = "contract"\n')
    with reader.read([path]) as log:
        found = diagnose(log, limits.load(table))
    assert found.verdict.rule == "D7"
    assert "as at a known limit (our array)" in found.verdict.sentence
