"""Busy processors clear a disk that keeps few requests waiting, and no disk that is saturated."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from make_iostat import START
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Diagnosis, Outcome

COUNT = 60
SCAN = (np.arange(COUNT) >= 15) & (np.arange(COUNT) < 50)
ALL = np.ones(COUNT)
FULL = (65.0, 15.0, 18.0)
"""Shares of user, nice and system on a machine whose processors are full."""


def noise(seed: int, spread: float = 0.05) -> np.ndarray:
    return np.random.default_rng(seed).normal(1, spread, COUNT)


def log(
    path: Path,
    iops: np.ndarray,
    latency_ms: np.ndarray,
    percent: np.ndarray,
    cpu: tuple[float, float, float] | None = FULL,
    *,
    count: int = COUNT,
) -> Path:
    """Reports of `iostat -xt 1` of one disk that is read in 8 KiB."""
    lines = ["Linux 6.1.0-18-amd64 (db1) \t2026-03-02 \t_x86_64_\t(2 CPU)\n"]
    for at in range(count):
        rate, wait = iops[at], latency_ms[at]
        lines.append(f"{START + timedelta(seconds=at):%Y-%m-%dT%H:%M:%S+0000}")
        if cpu is not None:
            user, nice, system = cpu
            lines += [
                "avg-cpu:  %user   %nice %system %iowait  %steal   %idle",
                f"{user:.2f} {nice:.2f} {system:.2f} 0.00 0.00 {100 - sum(cpu):.2f}\n",
            ]
        lines += [
            "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util",
            f"sda {rate:.2f} 0.00 {8 * rate:.2f} 0.00 {wait:.2f} 0.00 {rate * wait / 1e3:.2f} {percent[at]:.2f}\n",
        ]
    path.write_text("\n".join(lines))
    return path


def rules(found: Diagnosis) -> set[str]:
    return {each.rule for each in found.findings}


SLOW = (np.where(SCAN, 120.0, 400.0), np.where(SCAN, 100.0, 0.9), np.where(SCAN, 100.0, 30.0))
"""A disk that a scan fills: twelve requests outstanding of 100 ms each, 0.9 ms before."""
DEEP = (174 * ALL, 91 * ALL, 100 * ALL)
"""A rotating disk with sixteen requests outstanding all along."""
ONE = (14 * ALL, 49 * ALL, 98 * ALL)
"""Flushes one after the other, each of 49 ms."""
ALMOST = (260 * ALL, np.where(np.arange(COUNT) % 6 == 0, 7.0, 4.4), 92 * ALL)
"""A disk in use all the time with a little more than one request, of which a part is slow."""


@pytest.mark.parametrize("disk", [SLOW, DEEP, ONE, ALMOST])
def test_busy_processors_do_not_clear_a_disk_that_keeps_requests_waiting(
    tmp_path: Path, disk: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    iops, latency, percent = disk
    found = diagnosed(log(tmp_path / "log", iops * noise(1), latency * noise(2, 0.03), percent))
    assert found.verdict.outcome is not Outcome.HEALTHY, found.verdict
    assert "D25" not in rules(found)
    both = next(each for each in found.findings if each.rule == "L4")
    assert "Processors are busy, and sda keeps requests waiting as well" in both.what
    assert "98.0 % busy on average, 15.0 % of it with niced programs" in both.evidence[0].sentence
    if found.verdict.outcome is Outcome.UNKNOWN:
        assert both.what in found.verdict.sentence


@pytest.mark.parametrize("disk", [
    (670 * ALL, 0.45 * ALL, 25 * ALL), (20000 * ALL, 0.8 * ALL, 100 * ALL), (80 * ALL, 6 * ALL, 25 * ALL),
    (1.0 * ALL, 9 * ALL, 2 * ALL),
])  # fmt: skip
def test_busy_processors_clear_a_disk_that_is_fast_or_hardly_used(
    tmp_path: Path, disk: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    iops, latency, percent = disk
    found = diagnosed(log(tmp_path / "log", iops * noise(1), latency * noise(2), percent))
    assert found.verdict.sentence == "Storage is not your bottleneck: the processors are."
    assert "L4" not in rules(found)


def test_niced_programs_yield_to_the_database(tmp_path: Path) -> None:
    found = diagnosed(log(tmp_path / "log", 80 * noise(1), 6 * noise(2), 25 * ALL, (5.0, 94.0, 1.0)))
    assert "the processors are" not in found.verdict.sentence
    assert found.verdict.outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("count", [2, 4, 7])
def test_a_few_looks_at_full_processors_are_too_short(tmp_path: Path, count: int) -> None:
    found = diagnosed(log(tmp_path / "log", 100 * ALL, 0.5 * ALL, 10 * ALL, count=count))
    assert found.verdict.outcome is Outcome.UNKNOWN
    assert "too short" in found.verdict.sentence


def test_busy_processors_without_disks_are_told(tmp_path: Path) -> None:
    rows = ["Linux 6.1.0-18-amd64 (db1) \t2026-03-02 \t_x86_64_\t(2 CPU)\n"]
    rows.append("10:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle")
    rows += [f"10:00:{at:02}        all     75.00     5.00     19.00      0.00      0.00      1.00"
             for at in range(1, 20)]  # fmt: skip
    (tmp_path / "log").write_text("\n".join(rows) + "\n")
    found = diagnosed(tmp_path / "log")
    assert found.verdict.outcome is Outcome.UNKNOWN
    assert "The processors are busy, but no log tells what the disks did" in found.verdict.sentence


def filled(path: Path) -> Path:
    """1,500 requests per second at most, of 0.7 ms without waiting; mostly five or six are outstanding."""
    load = np.where(np.arange(COUNT) % 8 == 0, 0.5, 5.5) * noise(3, 0.15)
    iops = np.minimum(load / 0.0007, 1500) * noise(4, 0.01)
    return log(path, iops, 1e3 * load / iops, np.where(load < 1, 60.0, 85.0), None)


def sessions(path: Path, waiting: int, hours: int = 0) -> Path:
    """Looks at the sessions of PostgreSQL, so many of which wait for reads; an hour or more later if told."""
    rows = ["now,wait_event_type,wait_event,state,sessions"]
    rows += [f"{START + timedelta(hours=hours, seconds=at):%Y-%m-%d %H:%M:%S}+00,IO,DataFileRead,active,{waiting}"
             for at in range(0, COUNT, 2)]  # fmt: skip
    path.write_text("\n".join(rows) + "\n")
    return path


def test_a_saturated_disk_is_not_cleared(tmp_path: Path) -> None:
    found = diagnosed(filled(tmp_path / "log"))
    assert any("sda is saturated" in each.what for each in found.findings if each.rule == "L1")
    assert found.verdict.outcome is Outcome.UNKNOWN
    assert "sda is saturated: more load only waits" in found.verdict.sentence


@pytest.mark.parametrize(("waiting", "said"), [
    (6, "requests outstanding then (sda: "), (60, "no latency in them explains that"),
])  # fmt: skip
def test_as_many_sessions_as_requests_outstanding_are_explained(tmp_path: Path, waiting: int, said: str) -> None:
    found = diagnosed(filled(tmp_path / "log"), sessions(tmp_path / "waits", waiting))
    assert found.verdict.outcome is Outcome.UNKNOWN
    assert f"{waiting}.00 sessions wait" in found.verdict.sentence or f"{waiting}.0 sessions" in found.verdict.sentence
    assert said in found.verdict.sentence


@pytest.mark.parametrize("hours", [0, 3])
def test_sessions_of_another_time_are_no_harm(tmp_path: Path, hours: int) -> None:
    disks = log(tmp_path / "log", 500 * noise(1), 0.5 * noise(2), 20 * ALL, None)
    found = diagnosed(disks, sessions(tmp_path / "waits", 6, hours))
    assert ("sessions wait" in found.verdict.sentence) == (hours == 0)
    assert (found.verdict.outcome is Outcome.HEALTHY) == (hours == 3)
