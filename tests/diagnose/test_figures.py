"""The figures of a finding are those of the moments that it speaks of."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
from make_iostat import START, STEP_S, disk, iostat
from test_busy_processors import ALL, noise
from test_busy_processors import log as with_processors
from test_slow_member import LATER, member
from test_surroundings import diagnosed

from fathom.diagnose.clock import NS
from fathom.diagnose.diagnose import Diagnosis
from fathom.diagnose.evidence.figures import figures
from fathom.finding import Finding

COUNT = 240


def only(found: Diagnosis, rule: str) -> Finding:
    return next(each for each in found.findings if each.rule == rule)


def scattered(seed: int, spread: float = 0.03) -> np.ndarray:
    return np.random.default_rng(seed).normal(1, spread, COUNT)


def test_a_slow_half_and_a_fast_half_with_as_many_outstanding_are_not_mixed(tmp_path: Path) -> None:
    """First 320 requests/s of 200 ms, then 100,000/s of 1.3 ms: their medians together are figures of no moment."""
    slow = np.arange(COUNT) < COUNT // 2 + 1
    made = disk(np.where(slow, 320, 1e5) * scattered(1), np.where(slow, 200.0, 1.3) * scattered(2), writes=0.0)
    found = diagnosed(iostat(tmp_path / "log", {"bcache0": made}))
    told = only(found, "L2")
    assert told.what.startswith(("bcache0 is slow, 200 ms in 10 min", "bcache0 is slow, 199 ms in 10 min")), told.what
    seen = told.evidence[0]
    assert " IOPS" in seen.sentence
    latency, load, rate = (float(word) for word in np.array(seen.sentence.split())[[0, 3, 6]])
    assert abs(rate * latency / 1e3 - load) < 1, seen.sentence
    assert 310 < rate < 330
    last = START + timedelta(seconds=STEP_S * int(slow.sum()))
    assert seen.end_ns is not None
    assert seen.end_ns / NS <= last.timestamp() + last.astimezone().utcoffset().total_seconds()


def test_slow_requests_weigh_as_many_as_they_are(tmp_path: Path) -> None:
    """1,000 of 20 ms and 100 of 200 ms in a second each are 1,100 of 36 ms."""
    long = np.arange(COUNT) % 2 == 0
    made = disk(np.where(long, 100.0, 1000.0), np.where(long, 200.0, 20.0))
    (sdb,) = diagnosed(iostat(tmp_path / "log", {"sdb": made})).system.disks
    did = figures(sdb, np.ones(COUNT, dtype=bool))
    assert np.allclose(did, (0.040 / 1.1, 20.0, 550.0), rtol=0.01), did


def test_a_disk_beside_busy_processors_is_told_with_its_slow_moments(tmp_path: Path) -> None:
    """In use all the time, with a part of its requests slow: those are what it keeps waiting."""
    latency = np.where(np.arange(60) % 6 == 0, 8.0, 4.3)
    found = diagnosed(with_processors(tmp_path / "log", 260 * noise(1), latency * noise(2, 0.03), 92 * ALL))
    told = only(found, "L4")
    assert "keeps requests waiting as well (8." in told.what or "keeps requests waiting as well (7.9" in told.what


def test_a_layer_that_loses_time_is_told_with_its_slow_moments(tmp_path: Path) -> None:
    """Slow in 60 % of the time, so that the median of the whole log is slow as well, at another rate."""
    slow = np.arange(COUNT) % 10 < 6
    rate = np.where(slow, 6000, 60000) * scattered(5)
    upper, lower = disk(rate, np.where(slow, 12.0, 0.18) * scattered(6)), disk(rate, 0.15 * scattered(7))
    found = diagnosed(iostat(tmp_path / "log", {"dm-0": upper, "nvme0n1": lower}))
    assert found.verdict.rule == "D34"
    assert "it takes 12." in found.verdict.sentence or "it takes 11.9" in found.verdict.sentence
    assert "in 12 min of 20 min" in found.verdict.sentence


def test_a_slow_member_is_told_with_its_slow_moments(tmp_path: Path) -> None:
    """Fast for 50 of 120 intervals: the mean of all would be 64 ms."""
    members = {f"sd{'bcd'[place]}": member(place, 0.9, 15.0) for place in range(3)}
    members["sde"] = member(3, np.where(LATER, 109.0, 0.9), 99.5)
    found = diagnosed(iostat(tmp_path / "log", members))
    assert found.verdict.rule == "D27"
    assert ": 109 ms, " in found.verdict.sentence, found.verdict.sentence
    assert "5.8 min of 10 min" in found.verdict.sentence
