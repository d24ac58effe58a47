"""Advice that fits: limits that are reached in a part of each interval, and none that the system cannot follow."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from make_iostat import disk
from make_iostat import iostat as reports
from test_surroundings import advice, diagnosed, iostat
from test_throttle import AWS, OWN

VOLUME = "vol-0123456789abcdef0"
MINUTES = 120
BOUGHT = 125 * 2**20


def at_limit_now_and_then(folder: Path, *, most: float = BOUGHT) -> list[Path]:
    """CloudWatch of a gp3 that is at its throughput in a part of each minute, and its description."""
    random = np.random.default_rng(6)
    asked = np.where(np.arange(MINUTES) % 40 < 30, 1.05, 0.75) * random.lognormal(0, 0.12, MINUTES)
    # Means of minutes come near to the limit as more is asked.
    moved = most * asked / (1 + asked**10) ** 0.1
    latency = 0.001 + 0.09 * np.clip(asked - 0.7, 0, 0.6) / 0.6
    operations = 60 * moved / 65536
    metrics = {
        "VolumeReadOps": operations, "VolumeReadBytes": 60 * moved, "VolumeTotalReadTime": operations * latency,
        "VolumeIdleTime": np.full(MINUTES, 0.1),
    }  # fmt: skip
    times = [f"2026-03-02T{22 + at // 60:02}:{at % 60:02}:00Z" for at in range(60)]
    times += [f"2026-03-02T23:{at:02}:00Z" for at in range(60)]
    entries = [
        {"Id": f"m{at}", "Label": f"{name} {VOLUME}", "Timestamps": times, "Values": values.tolist()}
        for at, (name, values) in enumerate(metrics.items())
    ]
    log, described = folder / "cloudwatch", folder / "volumes"
    log.write_text(json.dumps({"MetricDataResults": entries}))
    of_volume = {"VolumeId": VOLUME, "VolumeType": "gp3", "Size": 500, "Iops": 3000, "Throughput": 125}
    described.write_text(json.dumps({"Volumes": [of_volume]}))
    return [log, described]


def test_means_a_little_below_what_was_bought_are_at_it(tmp_path: Path) -> None:
    found = diagnosed(*at_limit_now_and_then(tmp_path))
    assert found.verdict.rule == "D5", found.verdict
    assert "comes ever nearer to 131 MB/s, what was bought for vol-0123456789abcdef0" in found.verdict.sentence
    assert f"aws ec2 modify-volume --volume-id {VOLUME}" in advice(found)
    assert "rotating" not in advice(found)


def test_a_volume_that_goes_beyond_it_is_held_by_something_else(tmp_path: Path) -> None:
    found = diagnosed(*at_limit_now_and_then(tmp_path, most=1.03 * BOUGHT))
    assert "D5" not in {each.rule for each in found.findings if "nearer" in each.what}
    assert "rotating" not in advice(found), "EBS is flash"


@pytest.mark.parametrize(("kernel", "there"), [(AWS, False), (OWN, True)])
def test_a_rented_volume_has_no_controller(tmp_path: Path, kernel: str, *, there: bool) -> None:
    """A log volume whose writes take 30 times as long from one moment on."""
    count = 240
    random = np.random.default_rng(2)
    slow = np.arange(count) >= 130
    rate = 250 * random.lognormal(0, 0.2, count)
    written = disk(rate, np.where(slow, 27.0, 0.9) * random.normal(1, 0.05, count), writes=0.97)
    found = diagnosed(reports(tmp_path / "log", {"nvme2n1": written}, kernel=kernel))
    assert found.verdict.rule == "D20"
    assert ("storcli64" in advice(found)) is there
    assert ("write cache" in found.verdict.sentence) is there


def test_a_disk_that_no_cloud_has_is_not_at_a_limit_of_one_by_chance(tmp_path: Path) -> None:
    """8,000 IOPS within 2 % are no Azure P30 with performance plus."""
    count = 240
    random = np.random.default_rng(3)
    busy = np.arange(count) % 60 < 15
    rate = np.where(busy, 8000 * random.normal(1, 0.02, count), 500 * random.lognormal(0, 0.1, count))
    load = rate * np.where(busy, 0.045, 0.001)
    found = diagnosed(iostat(tmp_path / "log", iops=rate, queue=load, device="sda", kernel=OWN))
    assert "D5" not in {each.rule for each in found.findings}
