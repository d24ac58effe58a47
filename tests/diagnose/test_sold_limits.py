"""D5 and D6: whose limit a plateau can be: a volume's of this cloud, a link's, the instance's, or none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from test_context_rules import disk, perfmon
from test_surroundings import advice, diagnosed, iostat
from test_throttle import AWS, AZURE, OWN

from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Diagnosis, diagnose
from fathom.diagnose.evidence import limits

COUNT = 120
BUSY = (np.arange(COUNT) >= 40) & (np.arange(COUNT) < 90)
RANDOM = np.random.default_rng(12)


def at(level: float, base_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Rate and requests outstanding: quiet, at a level with many users, and quiet again."""
    iops = np.where(BUSY, level, level / 3) * RANDOM.normal(1, 0.001, COUNT)
    return iops, np.where(BUSY, RANDOM.uniform(20, 60, COUNT), iops * base_s)


def throttle(found: Diagnosis) -> float:
    """Confidence of D5; 0 without it."""
    return max((each.confidence for each in found.findings if each.rule == "D5"), default=0.0)


@pytest.mark.parametrize(
    ("level", "device", "kernel", "confidence"),
    [
        (3000, "nvme1n1", AWS, 0.8),
        (3000, "nvme1n1", OWN, 0.6),
        (3000, "xvdf", OWN, 0.6),
        (3000, "sdb", OWN, 0.45),  # EBS has no such name
        (3000, "sdb", AWS, 0.8),  # what the kernel tells counts more than a name
        (2300, "sdc", OWN, 0.6),
        (2300, "sdb", OWN, 0.45),  # Azure's own temporary disk
        (2300, "sdb", AZURE, 0.8),
        (3000, "loop1", OWN, 0.45),  # a file
        (2300, "loop1", OWN, 0.45),
        (2300, "nvme1n1", AWS, 0.0),
    ],
)
def test_what_one_cloud_sells_counts_as_much_as_the_host_is_in_it(
    tmp_path: Path, level: float, device: str, kernel: str, confidence: float
) -> None:
    iops, load = at(level, 0.0015)
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=load, device=device, kernel=kernel))
    assert throttle(found) == confidence, found.verdict
    if confidence:
        sold = "aws ec2 modify-volume" if level == 3000 else "az disk update"
        # What no cloud sells cannot be bought there.
        assert (sold if confidence >= 0.5 else "Raise the limit where it was set") in advice(found), advice(found)
        assert ("may be throttled" in "".join(each.what for each in found.findings)) is (confidence < 0.5)
    other = "az disk update" if level == 3000 else "aws ec2 modify-volume"
    assert other not in advice(found)


def test_a_limit_of_the_user_s_own_has_no_command_of_a_cloud(tmp_path: Path) -> None:
    iops, load = at(400, 0.0015)
    log = iostat(tmp_path / "log", iops=iops, queue=load, device="nvme1n1", kernel=OWN)
    table = tmp_path / "limits.toml"
    table.write_text('[[volume]]\nname = "our array, silver"\niops = 400\nsource = "contract"\n')
    with reader.read([log]) as read:
        found = diagnose(read, limits.load(table))
    assert found.verdict.rule == "D5", found.verdict
    assert "Raise the limit where it was set" in found.findings[0].remedies[0].action
    assert not any(word in advice(found) for word in ("aws ", "az ", "gcloud "))


@pytest.mark.parametrize(
    ("device", "kernel", "confidence"), [("sda", OWN, 0.0), ("nvme1n1", OWN, 0.45), ("nvme1n1", AWS, 0.8)]
)
def test_one_request_after_the_other_is_the_pace_of_a_device(
    tmp_path: Path, device: str, kernel: str, confidence: float
) -> None:
    """3,000 IOPS of 0.33 ms each need no second request at a time."""
    iops, load = at(3000, 0.00033)
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=load, device=device, kernel=kernel))
    assert throttle(found) == confidence, found.verdict


@pytest.mark.parametrize(
    ("level", "kernel", "there"), [(117.3e6, OWN, True), (117.3e6, AWS, False), (104e6, OWN, False)]
)
def test_the_rate_of_a_link_is_told_with_advice_for_links(
    tmp_path: Path, level: float, kernel: str, *, there: bool
) -> None:
    """8 KiB requests over iSCSI, 60 users; a mean of 33.6 requests is no depth of 32."""
    iops, _ = at(level / 8192, 0.0001)
    load = np.where(BUSY, 33.6, iops * 0.0001)
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=load, device="sdc", kernel=kernel))
    assert (
        "at the rate of its link" in found.verdict.sentence and "1 Gb/s Ethernet" in found.verdict.sentence
    ) is there
    assert "D1" not in {each.rule for each in found.findings}
    if there:
        remedy = found.findings[0].remedies[0]
        assert "link" in remedy.action
        assert not any("modify-volume" in command or "az disk" in command for command in remedy.commands)


def cloudwatch(path: Path, volumes: dict[str, dict[str, np.ndarray]]) -> Path:
    times = [f"2026-03-02T{8 + minute // 60:02}:{minute % 60:02}:00Z" for minute in range(COUNT)]
    entries = [
        {"Id": f"m{number}", "Label": f"{metric} {name}", "Timestamps": times, "Values": values.tolist()}
        for number, (name, metric, values) in enumerate(
            (name, metric, values) for name, metrics in volumes.items() for metric, values in metrics.items()
        )
    ]
    path.write_text(json.dumps({"MetricDataResults": entries}))
    return path


def volume(iops: np.ndarray, latency_s: np.ndarray, passed: object) -> dict[str, np.ndarray]:
    return {
        "VolumeReadOps": 60 * iops, "VolumeReadBytes": 60 * 8192 * iops, "VolumeTotalReadTime": 60 * iops * latency_s,
        "VolumeQueueLength": iops * latency_s, "VolumeIOPSExceededCheck": np.broadcast_to(passed, COUNT) * 1.0,
        "VolumeThroughputExceededCheck": np.zeros(COUNT),
    }  # fmt: skip


@pytest.mark.parametrize(("passed", "confidence"), [(BUSY, 0.95), (False, 0.0)])
def test_the_clouds_own_counter_decides_on_a_plateau(tmp_path: Path, passed: object, confidence: float) -> None:
    iops, load = at(3000, 0.001)
    log = cloudwatch(tmp_path / "log", {"vol-0123456789abcdef0": volume(iops, load / iops, passed)})
    assert throttle(diagnosed(log)) == confidence


def parts(rate: float, wait_s: float, other_wait_s: float) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Two volumes with four and one fifths of a level sum: their rates, and latencies in the busy time."""
    share = 0.8 * RANDOM.normal(1, 0.004, COUNT)
    whole = np.where(BUSY, rate, rate / 3) * RANDOM.normal(1, 0.0005, COUNT)
    return (
        (whole * share, np.where(BUSY, 0.0007 + wait_s, 0.0007)),
        (whole * (1 - share), np.where(BUSY, 0.0012 + other_wait_s, 0.0012)),
    )


@pytest.mark.parametrize(("other", "there"), [(0.012, True), (0.004, False)])
@pytest.mark.parametrize("kind", ["volumes", "disks"])
def test_volumes_that_wait_alike_at_a_level_sum_share_a_limit(
    tmp_path: Path, kind: str, other: float, *, there: bool
) -> None:
    """Each is level as well, as the mix never changes; none is at a limit of its own."""
    (first, slow), (second, slower) = parts(3560.0, 0.012, other)
    if kind == "volumes":
        names = ("vol-0123456789abcdef0", "vol-0fedcba9876543210")
        log = cloudwatch(
            tmp_path / "log", {names[0]: volume(first, slow, False), names[1]: volume(second, slower, False)}
        )
    else:
        log = perfmon(tmp_path / "log", disk("1 D:", first, 0.0, slow, 0.0) | disk("2 E:", second, 0.0, slower, 0.0))
    found = diagnosed(log)
    assert ("D6" in {each.rule for each in found.findings}) is there
    if there:
        assert found.verdict.rule == "D6"
        assert "share" in found.verdict.sentence
        # With requests of one size either may be what is limited.
        assert "IOPS" in found.verdict.sentence
        assert "MB/s" in found.verdict.sentence
        assert found.verdict.confidence < 0.6
        assert ("larger instance" in advice(found)) is (kind == "volumes")


def test_two_volumes_at_limits_of_their_own_are_no_instance(tmp_path: Path) -> None:
    first, load = at(3000, 0.001)
    columns = disk("1 D:", first, 0.0, load / first, 0.0) | disk("2 E:", first, 0.0, load / first, 0.0)
    found = diagnosed(perfmon(tmp_path / "log", columns))
    assert found.verdict.rule == "D5", found.verdict
