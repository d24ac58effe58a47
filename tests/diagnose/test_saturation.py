"""D26: a device at its highest rate is told from a load of one rate that something else slows."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from make_iostat import disk, iostat
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Diagnosis
from fathom.diagnose.study import study

COUNT = 120
MIDDLE = (np.arange(COUNT) >= 40) & (np.arange(COUNT) < 90)
AWS = "6.1.0-1036-aws"


def saturated(
    path: Path,
    outstanding: np.ndarray,
    highest: float,
    base_ms: float,
    *,
    writes: float = 0.3,
    kernel: str = "6.1.0-18-amd64",
    percent: np.ndarray | float = 100.0,
    scatter: float = 0.008,
) -> Diagnosis:
    """A disk that serves so many requests per second at most, and each in `base_ms` while nobody waits."""
    random = np.random.default_rng(3)
    iops = np.minimum(outstanding / base_ms * 1e3, highest) * random.normal(1, scatter, COUNT)
    made = disk(iops, outstanding / iops * 1e3, writes=writes, percent=percent)
    return diagnosed(iostat(path / "log", {"sda": made}, kernel=kernel))


def test_a_rate_that_no_further_load_raises_is_the_highest(tmp_path: Path) -> None:
    steps = np.repeat([0.8, 0.9, 6.0, 12.0, 18.0, 40.0], COUNT // 6)
    found = saturated(tmp_path, steps, 166, 7.5)
    assert (found.verdict.rule, found.verdict.confidence) == ("D26", 0.6)
    assert "sda is at its highest rate: 166 IOPS" in found.verdict.sentence
    assert "from 1.2" in found.verdict.sentence
    said = " ".join(each.sentence for each in found.findings[0].evidence)
    assert "with 6.00 to 40.0 outstanding: latency grows in proportion" in said
    assert "In quieter times 11" in said
    assert len(found.findings[0].remedies) == 3
    assert "L2" not in {each.rule for each in found.findings}


@pytest.mark.parametrize(("highest", "base_ms", "servers"), [(166.0, 7.5, 1), (1592.0, 5.0, 8)])
def test_its_study_models_as_many_servers_as_meet_the_rate(
    tmp_path: Path, highest: float, base_ms: float, servers: int
) -> None:
    found = saturated(tmp_path, np.where(MIDDLE, 3.0 * servers + 0.4, 0.15 * servers), highest, base_ms)
    assert found.verdict.rule == "D26"
    written = tomllib.loads(study(found))
    assert written["volumes"]["disk"]["servers"] == servers
    assert written["sets"]["what"]["twice the device"] == {"volumes.disk.servers": 2 * servers}


@pytest.mark.parametrize(("few", "many", "highest", "base_ms"), [(1.2, 16.0, 1592, 5.0), (1.5, 57.0, 6670, 0.6)])
def test_one_level_of_load_far_beyond_the_knee_is_enough(
    tmp_path: Path, few: float, many: float, highest: float, base_ms: float
) -> None:
    found = saturated(tmp_path, np.where(MIDDLE, many, few), highest, base_ms)
    assert (found.verdict.rule, found.verdict.confidence) == ("D26", 0.55)


@pytest.mark.parametrize(
    ("few", "many", "highest", "scatter", "rule"),
    [
        (14.0, 44.0, 800.0, 0.008, "D26"),
        (2.4, 18.4, 166.0, 0.01, "D26"),
        # As requests scatter that arrive by themselves: the load may ask for just this rate.
        (14.0, 44.0, 800.0, 0.02, None),
    ],
)
def test_a_disk_that_was_slow_and_busy_before_needs_no_neighbour(
    tmp_path: Path, few: float, many: float, highest: float, scatter: float, rule: str | None
) -> None:
    found = saturated(tmp_path, np.where(MIDDLE, many, few), highest, 5.0, scatter=scatter)
    assert found.verdict.rule == rule
    assert "requests are outstanding" in found.verdict.sentence
    assert "D20" not in {each.rule for each in found.findings}


def test_a_rate_that_is_done_at_a_low_latency_at_other_times_is_the_loads(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    iops = 800 * random.normal(1, 0.03, COUNT)
    latency = np.where(MIDDLE, 30.0, 2.0) * random.normal(1, 0.03, COUNT)
    made = disk(iops, latency, percent=np.where(MIDDLE, 100.0, 60.0))
    found = diagnosed(iostat(tmp_path / "log", {"sda": made}))
    assert found.verdict.rule == "D20"
    assert "D26" not in {each.rule for each in found.findings}


def test_a_disk_that_was_idle_in_between_had_time_for_more(tmp_path: Path) -> None:
    found = saturated(tmp_path, np.where(MIDDLE, 16.0, 1.2), 1592, 5.0, percent=70.0)
    assert "D26" not in {each.rule for each in found.findings}


@pytest.mark.parametrize(("kernel", "rule"), [("6.1.0-18-amd64", "D26"), (AWS, None)])
def test_requests_one_after_the_other_are_a_rotating_disks(tmp_path: Path, kernel: str, rule: str | None) -> None:
    """The same all the time: in a cloud nothing tells it from a volume that is slow."""
    found = saturated(tmp_path, np.full(COUNT, 15.2), 222, 4.5, writes=1.0, kernel=kernel)
    assert found.verdict.rule == rule
    if rule:
        assert "one request after the other, while 15.2 are outstanding" in found.verdict.sentence
        # It is only written: no index makes it read less.
        assert "more rows per commit" in found.findings[0].remedies[0].action


def test_a_known_limit_is_stronger(tmp_path: Path) -> None:
    found = saturated(tmp_path, np.where(MIDDLE, 42.0, 1.0), 3000, 0.9, kernel=AWS)
    assert found.verdict.rule == "D5"
    assert "D26" not in {each.rule for each in found.findings}
    assert any("D26 on sda was considered" in each.sentence for each in found.findings[0].evidence)


def test_every_disk_has_its_own_contradictions(tmp_path: Path) -> None:
    """Two volumes at their limits: what is said of one says nothing of the other."""
    random = np.random.default_rng(5)
    load = np.where(MIDDLE, 42.0, 1.0)
    disks = {}
    for name, limit in (("sda", 3000.0), ("sdb", 16000.0)):
        iops = np.minimum(load / 0.9e-3 * limit / 3000, limit) * random.normal(1, 0.002, COUNT)
        disks[name] = disk(iops, load * limit / 3000 / iops * 1e3)
    found = diagnosed(iostat(tmp_path / "log", disks, kernel=AWS))
    assert sorted(each.subject for each in found.findings if each.rule == "D5") == ["sda", "sdb"]
    assert "D26" not in {each.rule for each in found.findings}


def test_a_queue_that_is_no_deeper_than_what_the_device_needs_is_not_what_holds_it(tmp_path: Path) -> None:
    """30 is a depth of queues, but the rate is the same with 6 outstanding."""
    found = saturated(tmp_path, np.repeat([0.8, 0.9, 6.0, 12.0, 18.0, 30.0], COUNT // 6), 166, 7.5)
    assert found.verdict.rule == "D26"
    assert [each.confidence for each in found.findings if each.rule == "D1"] in ([], [0.4])
