"""Slow times of a log: few requests are done in them, but they last."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from make_iostat import disk, iostat
from make_pdh import pdh, stamps
from test_elsewhere import LOG, sql_server
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Diagnosis, Outcome
from fathom.finding import Severity

COUNT = 240
PLACES = np.arange(COUNT)
SLOW = (PLACES >= 100) & (PLACES < 150)


def noise(seed: int, spread: float = 0.05) -> np.ndarray:
    return np.random.default_rng(seed).normal(1, spread, COUNT)


def other_mix(path: Path, slow: np.ndarray) -> Diagnosis:
    """A disk whose mix of reads and writes is another one while it is slow: nothing tells why."""
    reads, writes = np.where(slow, 150, 2900) * noise(1), np.where(slow, 100, 100) * noise(2)
    made = disk(reads + writes, np.where(slow, 60.0, 0.6) * noise(3), writes=0.3)
    made = type(made)(reads, made.read_ms, writes, made.write_ms, made.percent)
    return diagnosed(iostat(path, {"sdb": made}))


def test_a_disk_that_was_slow_for_minutes_is_not_healthy(tmp_path: Path) -> None:
    """95 % of all requests come from the fast moments."""
    found = other_mix(tmp_path / "log", SLOW)
    assert found.verdict.outcome is Outcome.UNKNOWN
    assert "sdb is slow, 60." in found.verdict.sentence
    assert "in 4.2 min of 20 min" in found.verdict.sentence


def test_some_slow_moments_do_not_make_a_disk_slow(tmp_path: Path) -> None:
    found = other_mix(tmp_path / "log", (PLACES >= 100) & (PLACES < 107))
    assert found.verdict.outcome is Outcome.HEALTHY


def test_single_slow_moments_of_a_long_log_are_noise(tmp_path: Path) -> None:
    """Two requests that come together now and then are no slow time."""
    count = 2400
    slow = np.isin(np.arange(count), np.random.default_rng(3).choice(np.arange(0, count, 20), 10, replace=False))
    random = np.random.default_rng(1)
    made = disk(200 * random.normal(1, 0.05, count), np.where(slow, 8.0, 0.9) * random.normal(1, 0.05, count))
    found = diagnosed(iostat(tmp_path / "log", {"sdb": made}))
    assert [each.rule for each in found.findings] == ["D25"]


def batches(path: Path, done: np.ndarray) -> Diagnosis:
    """A disk that is slow for a while, beside what a server does."""
    made = {
        r"\\SQL01\PhysicalDisk(1 E:)\Disk Reads/sec": np.where(SLOW, 60.0, 2900.0) * noise(4),
        r"\\SQL01\PhysicalDisk(1 E:)\Disk Writes/sec": np.where(SLOW, 60.0, 100.0) * noise(5),
        r"\\SQL01\PhysicalDisk(1 E:)\Avg. Disk sec/Read": np.where(SLOW, 0.12, 0.0006) * noise(6),
        r"\\SQL01\PhysicalDisk(1 E:)\Avg. Disk sec/Write": np.where(SLOW, 0.12, 0.0006) * noise(7),
        r"\\SQL01\SQLServer:SQL Statistics\Batch Requests/sec": done * noise(8),
    }
    rows = [[f"{value:.6f}" for value in row] for row in zip(*made.values(), strict=True)]
    path.write_text(pdh(rows, list(made), zone="(PDH-CSV 4.0) (UTC)(0)", times=stamps(COUNT, step_s=5.0)))
    return diagnosed(path)


def test_fewer_batches_while_a_disk_is_slow_are_harm(tmp_path: Path) -> None:
    found = batches(tmp_path / "log", np.where(SLOW, 90.0, 2500.0))
    assert found.findings[0].severity is Severity.WARNING
    assert "batches/s while 1 E: is slow, 2,5" in str(found.findings[0].harm)


def test_a_night_with_few_batches_is_no_harm(tmp_path: Path) -> None:
    """The batches are as few just before and after the slow time."""
    found = batches(tmp_path / "log", np.where((PLACES >= 40) & (PLACES < 210), 90.0, 2500.0))
    assert all(each.harm is None for each in found.findings)


def test_a_file_that_is_slow_for_a_part_of_the_snapshots_is_named(tmp_path: Path) -> None:
    """Usually about one write is outstanding, as while it is slow: the median of both is fast."""
    count = 60
    slow = (np.arange(count) >= 30) & (np.arange(count) < 40)
    latency = np.where(slow, 45.0, 3.6)
    found = sql_server(tmp_path / "log", latency, {"WRITELOG": np.where(slow, 18.0, 0.4)})
    assert found.findings[0].rule == "L2"
    assert f"{LOG} is slow, 45.0 ms in 100 s of 9.8 min" in found.verdict.sentence
    said = " ".join(each.sentence for each in found.findings[0].evidence)
    assert "18.0 sessions wait for data and log I/O in these times, 0.4" in said


def test_a_disk_that_is_always_slow_is_not_said_to_be_slow_for_a_part_of_the_log(tmp_path: Path) -> None:
    """One request is outstanding now and then only, but each takes as long."""
    made = disk(np.where(PLACES % 5 == 0, 120.0, 70.0) * noise(9), 12.0 * noise(10), writes=1.0, percent=90.0)
    found = diagnosed(iostat(tmp_path / "log", {"sdc": made}))
    (slow,) = (each for each in found.findings if each.rule == "L2")
    assert slow.what.startswith("sdc is slow, 1")
    assert " min " not in slow.what
