"""What an EBS volume is decides what its limits are and what changes them: st1 and sc1 are no gp2, io2 is no gp3."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from test_surroundings import advice, diagnosed

from fathom.diagnose.diagnose import Diagnosis

COUNT = 60
VOLUME = "vol-0123456789abcdef0"
SPENT = np.arange(COUNT) >= COUNT // 2
NOISE = np.random.default_rng(4).normal(1, 0.002, COUNT)
MIB = 1 << 20


def cloudwatch(path: Path, **metrics: np.ndarray) -> Path:
    """Sums of one volume, a minute each."""
    times = [f"2026-03-02T22:{at:02}:00Z" for at in range(COUNT)]
    entries = [
        {"Id": f"m{at}", "Label": f"{name} {VOLUME}", "Timestamps": times, "Values": values.tolist()}
        for at, (name, values) in enumerate(metrics.items())
    ]
    path.write_text(json.dumps({"MetricDataResults": entries}))
    return path


def described(path: Path, kind: str, gib: int = 1024, **limits: int) -> Path:
    """What `aws ec2 describe-volumes` says of it."""
    path.write_text(json.dumps({"Volumes": [{"VolumeId": VOLUME, "VolumeType": kind, "Size": gib, **limits}]}))
    return path


def worked(path: Path, iops: np.ndarray, size: int, latency_s: np.ndarray, **more: np.ndarray) -> Path:
    rates = iops * NOISE
    sums = {"VolumeReadOps": 60 * rates, "VolumeReadBytes": 60 * rates * size}
    return cloudwatch(path, **sums, VolumeTotalReadTime=60 * rates * latency_s, **more)


def scan(path: Path) -> Path:
    """A scan of 1 MiB, 244 MiB/s with credits and 39 MiB/s without."""
    balance = np.where(SPENT, 0.5, np.linspace(90, 10, COUNT))
    return worked(path, np.where(SPENT, 39, 244), MIB, np.where(SPENT, 0.1, 0.02), BurstBalance=balance)


def commands(found: Diagnosis, rule: str) -> str:
    return "\n".join(
        command
        for finding in found.findings
        if finding.rule == rule
        for remedy in finding.remedies
        for command in remedy.commands
    )


@pytest.mark.parametrize(("kind", "size"), [("st1", "--size 62"), ("sc1", "--size GIB"), (None, "--size GIB")])
def test_a_hard_disk_without_credits_becomes_no_gp3(tmp_path: Path, kind: str | None, size: str) -> None:
    """sc1 has 192 MiB/s without credits at most; without a description 39 IOPS of 1 MiB are below the least of gp2."""
    logs = [scan(tmp_path / "log")] + ([described(tmp_path / "volumes", kind)] if kind else [])
    found = diagnosed(*logs)
    assert (found.verdict.rule, found.verdict.confidence) == ("D7", 0.95), found.verdict
    done = commands(found, "D7")
    assert f"aws ec2 modify-volume --volume-id {VOLUME} {size}" in done
    assert "gp3" not in done
    assert "Change gp2" not in advice(found)
    assert "40 MiB/s for each TiB of st1" in advice(found) or kind == "sc1"
    assert "each GiB of it costs more" in advice(found)


def test_a_balance_alone_does_not_tell_the_type(tmp_path: Path) -> None:
    found = diagnosed(cloudwatch(tmp_path / "log", BurstBalance=np.where(SPENT, 0.5, 60.0)))
    assert found.verdict.rule == "D7", found.verdict
    assert "describe-volumes" in commands(found, "D7")
    assert "enlarge st1 or sc1" in advice(found)


@pytest.mark.parametrize(
    ("kind", "limits", "there", "absent"),
    [
        ("io2", {"Iops": 4000}, "--iops N", "gp3"),
        ("io1", {"Iops": 4000}, "--iops N", "gp3"),
        ("gp3", {"Iops": 4000, "Throughput": 125}, "--volume-type gp3 --iops N --throughput M", "--size"),
        ("st1", {}, "--size GIB", "gp3"),
    ],
)
def test_a_limit_is_raised_as_the_type_of_the_volume_allows(
    tmp_path: Path, kind: str, limits: dict[str, int], there: str, absent: str
) -> None:
    """4,000 IOPS of 8 KiB; of a hard disk of 4 TiB 160 MiB/s, its baseline."""
    busy, size = np.arange(COUNT) % 20 >= 8, MIB if kind == "st1" else 8192
    level = 160.0 if kind == "st1" else 4000.0
    iops = np.where(busy, level, level / 3)
    waits = np.where(busy, np.random.default_rng(5).uniform(20, 60, COUNT) / iops, 0.0012)
    found = diagnosed(
        worked(tmp_path / "log", iops, size, waits), described(tmp_path / "volumes", kind, 4096, **limits)
    )
    assert found.verdict.rule == "D5", found.verdict
    assert there in commands(found, "D5")
    assert absent not in commands(found, "D5")


def test_the_limit_of_another_type_is_none_of_this_volume(tmp_path: Path) -> None:
    """3,000 IOPS are what gp3 has as sold; this io2 was bought with 8,000."""
    busy = np.arange(COUNT) % 20 >= 8
    iops = np.where(busy, 3000.0, 1000.0)
    waits = np.where(busy, np.random.default_rng(5).uniform(20, 60, COUNT) / iops, 0.0012)
    log = worked(tmp_path / "log", iops, 8192, waits)
    alone, beside = diagnosed(log), diagnosed(log, described(tmp_path / "volumes", "io2", Iops=8000))
    said = ["".join(each.what for each in found.findings) for found in (alone, beside)]
    assert "gp3 as sold by default" in said[0]
    assert "gp3 as sold by default" not in said[1]


def test_gp3_is_said_to_cost_more_only_where_it_does(tmp_path: Path) -> None:
    busy = np.arange(COUNT) % 20 >= 8
    iops = np.where(busy, 1500.0, 500.0)
    waits = np.where(busy, np.random.default_rng(5).uniform(20, 60, COUNT) / iops, 0.0012)
    found = diagnosed(worked(tmp_path / "log", iops, 8192, waits), described(tmp_path / "volumes", "gp2", 500))
    assert found.verdict.rule == "D5", found.verdict
    assert "3 IOPS per GiB of the gp2" in found.verdict.sentence
    assert "gp3 costs less for each GiB than gp2" in advice(found)
