"""D7: the end of gp2's credits is a step to a plateau that stays, on a volume that can be a gp2."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from test_context_rules import COUNT, disk, perfmon
from test_surroundings import diagnosed, iostat
from test_throttle import AWS, AZURE, OWN

from fathom.diagnose.diagnose import Diagnosis

SPENT = np.arange(COUNT) >= COUNT // 2
NOISE = np.random.default_rng(8).normal(1, 0.002, COUNT)


def sure(found: Diagnosis) -> float:
    """Confidence of D7; 0 without it."""
    return next((each.confidence for each in found.findings if each.rule == "D7"), 0.0)


@pytest.mark.parametrize(("fast", "slow"), [(3.5, 23.0), (30.0, 23.0)])
def test_the_fast_time_counts_although_few_requests_queue_in_it(tmp_path: Path, fast: float, slow: float) -> None:
    """300 GiB: users that wait 26 ms each were served in 1.2 ms before."""
    iops = np.where(SPENT, 900, 3000) * NOISE
    log = iostat(tmp_path / "log", iops=iops, queue=np.where(SPENT, slow, fast), device="nvme1n1", kernel=AWS)
    found = diagnosed(log)
    assert (found.verdict.rule, found.verdict.confidence) == ("D7", 0.8), found.verdict
    assert "that of 300 GiB" in found.findings[0].evidence[0].sentence


@pytest.mark.parametrize(
    ("device", "kernel", "before", "confidence"),
    [
        ("nvme1n1", AWS, 3000, 0.8),
        ("nvme1n1", AWS, 2900, 0.8),
        ("nvme1n1", OWN, 3000, 0.6),
        ("nvme1n1", OWN, 2900, 0.45),  # served at 2,900 is no burst rate
        ("sdb", OWN, 3000, 0.45),  # EBS has no such name
        ("nvme1n1", AZURE, 3000, 0.0),
    ],
)
def test_without_a_sign_of_aws_it_is_less_sure(
    tmp_path: Path, device: str, kernel: str, before: float, confidence: float
) -> None:
    iops = np.where(SPENT, 900, before) * NOISE
    queue = iops * np.where(SPENT, 0.026, 0.0012)
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=queue, device=device, kernel=kernel))
    assert sure(found) == confidence
    if 0 < confidence < 0.5:
        assert "may be spent" in "".join(each.what for each in found.findings)


def test_a_rate_that_comes_back_has_not_lost_its_credits(tmp_path: Path) -> None:
    """A drive that is too hot cools down, and slows again: the rate of before is back every minute."""
    hot = SPENT & (np.arange(COUNT) % 12 < 9)
    iops = np.where(hot, 1300, 2950) * NOISE
    latency = np.where(hot, 0.0045, 0.0012)
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=iops * latency, device="nvme0n1", kernel=OWN))
    assert sure(found) == 0


@pytest.mark.parametrize(("size", "there"), [(65536, True), (131072, False)])
def test_more_throughput_than_gp2_has_is_no_gp2(tmp_path: Path, size: int, *, there: bool) -> None:
    iops = np.where(SPENT, 1200, 3000) * NOISE
    columns = disk("1 D:", iops, 0.0, np.where(SPENT, 0.006, 0.0012), 0.0, size)
    found = diagnosed(perfmon(tmp_path / "log", columns))
    assert bool(sure(found)) is there


@pytest.mark.parametrize(("size", "throughput"), [(8192, 125), (65536, 200), (131072, 250)])
def test_gp3_is_of_the_size_that_the_log_needs(tmp_path: Path, size: int, throughput: int) -> None:
    iops = np.where(SPENT, 1500, 3000 if size < 100_000 else 1950) * NOISE
    metrics = {
        "BurstBalance": np.where(SPENT, 0.5, 60.0), "VolumeReadOps": 60 * iops, "VolumeReadBytes": 60 * iops * size,
    }  # fmt: skip
    times = [f"2026-03-02T{22 + at // 60:02}:{at % 60:02}:00Z" for at in range(60)]
    entries = [
        {
            "Id": f"m{at}",
            "Label": f"{name} vol-0123456789abcdef0",
            "Timestamps": times,
            "Values": values[30:90].tolist(),
        }
        for at, (name, values) in enumerate(metrics.items())
    ]
    log = tmp_path / "cloudwatch"
    log.write_text(json.dumps({"MetricDataResults": entries}))
    found = next(each for each in diagnosed(log).findings if each.rule == "D7")
    remedy = found.remedies[0]
    assert remedy.commands[0].endswith(f"--iops 3000 --throughput {throughput}")
    assert "were needed while credits lasted" in remedy.action
    assert "125 MiB/s" in str(remedy.risk)
    assert ("more is paid for" in str(remedy.risk)) is (throughput > 125)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.linspace(100, 5, 60), "fell from 100 % to 5 % in 59 min: at that pace none are left 3.1 min after"),
        (np.linspace(100, 41, 60), "fell from 100 % to 41 % in 59 min: at that pace none are left 41 min after"),
        (np.r_[np.linspace(90, 12, 30), np.linspace(12, 90, 30)], "were down to 12 %"),
        (np.linspace(100, 51, 60), None),
        (np.full(60, 30.0), None),
        (np.linspace(60, 0, 60), None),
    ],
)
def test_credits_that_run_out_are_told_before_anything_is_slow(
    tmp_path: Path, values: np.ndarray, words: str | None
) -> None:
    times = [f"2026-03-02T22:{at:02}:00Z" for at in range(60)]
    entry = {"Id": "m1", "Label": "BurstBalance vol-0123456789abcdef0", "Timestamps": times, "Values": values.tolist()}
    log = tmp_path / "cloudwatch"
    log.write_text(json.dumps({"MetricDataResults": [entry]}))
    found = [each for each in diagnosed(log).findings if each.rule == "D31"]
    assert [True] * bool(words) == [bool(words) and words in each.what for each in found], found
