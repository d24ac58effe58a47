"""A disk that is hardly used beside one that does the work, and slow then: it decides nothing, unless users wait."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from make_iostat import START, STEP_S, Disk, disk, iostat
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Diagnosis, Outcome
from fathom.diagnose.evidence.overview import overview

COUNT = 240
NOW_AND_THEN = np.isin(np.arange(COUNT), np.random.default_rng(5).choice(COUNT // 2, 17, replace=False) * 2)
"""17 single intervals by chance."""
STORMS = np.isin(np.arange(COUNT) // 8, [5, 19])
"""Twice for 40 s."""
BY_THE_CLOCK = np.arange(COUNT) % 30 < 2
"""Every 2.5 min for 10 s."""
HEAD = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n 80.00 0.00 15.00 0.00 0.00 5.00\n\nDevice r/s"


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(1, 0.05, COUNT)


def swap(used: np.ndarray, rate: float = 200.0) -> Disk:
    return disk(np.where(used, rate, 0.0) * noise(1), np.where(used, 49.0, 0.0) * noise(2), writes=1.0, percent=20.0)


def beside(path: Path, made: Disk, rate: float = 400.0) -> Path:
    """The disk beside a fast one that does the work."""
    return iostat(path, {"nvme0n1": disk(rate * noise(3), 0.3 * noise(4), percent=15.0), "md0": made})


def waits(path: Path, then: np.ndarray) -> Path:
    """SQL Server's waits: three sessions for data at some moments."""
    total = np.cumsum(np.where(then, 3.0, 0.0) * STEP_S * 1000)
    looks = [f"{START + timedelta(seconds=STEP_S * place):%Y-%m-%d %H:%M:%S}" for place in range(COUNT)]
    lines = ["sample_time,wait_type,waiting_tasks_count,wait_time_ms,signal_wait_time_ms"]
    lines += [f"{look},PAGEIOLATCH_SH,{n + 1},{total[n]:.0f},0" for n, look in enumerate(looks)]
    path.write_text("\n".join(lines))
    return path


def told(found: Diagnosis) -> str:
    return next(each.what for each in found.findings if each.rule == "L2")


def test_it_is_a_remark_beside_a_healthy_system(tmp_path: Path) -> None:
    found = diagnosed(beside(tmp_path / "log", swap(NOW_AND_THEN)))
    assert found.verdict.outcome is Outcome.HEALTHY, found.verdict
    assert [each.rule for each in found.findings][:2] == ["D25", "L2"]
    (said,) = (each.sentence for each in found.findings[0].evidence if "md0" in each.sentence)
    assert "longer than the 5.00 ms" in said
    assert "but it is hardly used: in 85 s of 20 min" in said
    assert "ms when it is used, in 85 s of 20 min, and" in told(found)


def test_it_does_not_keep_busy_processors_from_being_told(tmp_path: Path) -> None:
    log = beside(tmp_path / "log", swap(NOW_AND_THEN))
    log.write_text(log.read_text().replace("Device r/s", HEAD))
    found = diagnosed(log)
    assert found.verdict.sentence == "Storage is not your bottleneck: the processors are."
    assert "L4" not in {each.rule for each in found.findings}


@pytest.mark.parametrize("used", [STORMS, BY_THE_CLOCK])
def test_storms_are_told_however_seldom(tmp_path: Path, used: np.ndarray) -> None:
    found = diagnosed(beside(tmp_path / "log", swap(used)))
    assert found.verdict.outcome is Outcome.UNKNOWN, found.verdict
    assert "Likeliest: md0 is slow" in found.verdict.sentence
    assert "ms when it is used, in 80 s of 20 min, and" in told(found)


def test_a_disk_for_which_sessions_wait_is_told(tmp_path: Path) -> None:
    """Three of them, in a tenth of the time: the mean hides them."""
    log = beside(tmp_path / "log", swap(NOW_AND_THEN))
    assert diagnosed(log, waits(tmp_path / "calm", NOW_AND_THEN & False)).verdict.outcome is Outcome.HEALTHY
    found = diagnosed(log, waits(tmp_path / "waits", NOW_AND_THEN))
    assert found.verdict.outcome is Outcome.UNKNOWN, found.verdict
    assert "md0 is slow" in found.verdict.sentence


def test_a_disk_that_does_the_work_is_told_however_seldom_it_is_used(tmp_path: Path) -> None:
    """The other one hardly does more, or there is none."""
    for log in (beside(tmp_path / "few", swap(NOW_AND_THEN), 40.0),
                iostat(tmp_path / "alone", {"md0": swap(NOW_AND_THEN)})):  # fmt: skip
        found = diagnosed(log)
        assert found.verdict.outcome is Outcome.UNKNOWN, found.verdict


def test_shares_are_of_the_time_that_was_recorded(tmp_path: Path) -> None:
    """And of the use where a disk is idle otherwise."""
    said = {each.partition(":")[0]: each for each in overview(diagnosed(beside(tmp_path / "l", swap(STORMS))).system)}
    assert said["md0"].endswith("should keep in 7 % of the time, 100 % of that in which it was used.")
    assert said["nvme0n1"].endswith("should keep in 0 % of the time.")
