"""D5: a throttle is told where a rate rose to a limit, or hardly scatters at one, and not of a load's own rate."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from make_pdh import pdh
from test_surroundings import diagnosed, iostat

from fathom.diagnose.diagnose import Diagnosis

COUNT = 60
SLOW = np.arange(COUNT) >= COUNT // 2
AWS, AZURE, OWN = "6.1.0-1036-aws", "6.1.0-1019-azure", "6.1.0-18-amd64"


def perfmon(
    path: Path, iops: np.ndarray, latency_s: np.ndarray, size: np.ndarray | float = 8192.0, unit: float = 1
) -> Diagnosis:
    """A disk that is read, and written for a fifth in 8 KiB and 3 ms."""
    disk = r"\\SQL01\PhysicalDisk(1 E:)"
    reads, writes = 0.8 * iops, 0.2 * iops
    columns = {
        "Disk Reads/sec": reads,
        "Disk Writes/sec": writes,
        "Avg. Disk sec/Read": latency_s * unit,
        "Avg. Disk sec/Write": np.full(COUNT, 0.003 * unit),
        "Current Disk Queue Length": np.round(reads * latency_s + writes * 0.003),
        "Disk Read Bytes/sec": reads * size,
        "Disk Write Bytes/sec": writes * 8192,
    }
    rows = [[f"{value:.9f}" for value in row] for row in zip(*columns.values(), strict=True)]
    path.write_text(pdh(rows, [rf"{disk}\{name}" for name in columns]))
    return diagnosed(path)


def rules(found: Diagnosis) -> set[str]:
    return {finding.rule for finding in found.findings}


@pytest.mark.parametrize("level", [500, 700, 1100, 2300, 3000])
@pytest.mark.parametrize("scatter", [0.01, 0.03, 0.08])
def test_a_rate_that_was_done_at_a_low_latency_before_is_no_limit(tmp_path: Path, level: int, scatter: float) -> None:
    """The application asks for the same all the time; a neighbour makes it wait."""
    random = np.random.default_rng(1)
    iops = level * random.normal(1, scatter, COUNT)
    found = perfmon(tmp_path / "log", iops, np.where(SLOW, 0.016, 0.003) * random.normal(1, 0.03, COUNT))
    assert found.verdict.rule == "D20", found.verdict
    assert not {"D5", "L1"} & rules(found)


@pytest.mark.parametrize("level", [500, 1200, 2300])
def test_larger_requests_take_longer_at_a_rate_that_is_no_limit(tmp_path: Path, level: int) -> None:
    """1,200 requests/s of 128 KiB are nearly the 125 MiB/s of gp3: all that was asked for is done all the same."""
    random = np.random.default_rng(2)
    iops = level * random.normal(1, 0.02, COUNT)
    latency = np.where(SLOW, 0.016, 0.003) * random.normal(1, 0.03, COUNT)
    found = perfmon(tmp_path / "log", iops, latency, np.where(SLOW, 131072.0, 8192.0))
    assert not {"D5", "L1"} & rules(found), found.verdict


def test_a_throttle_tells_the_highest_rate_as_it_is(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    iops = np.where(SLOW, 3000 * random.normal(1, 0.004, COUNT), random.normal(1200, 150, COUNT))
    found = perfmon(tmp_path / "log", iops, np.where(SLOW, random.normal(0.012, 0.002, COUNT), 0.001))
    assert (found.verdict.rule, found.verdict.confidence) == ("D5", 0.6), "nothing tells that Windows runs on AWS"
    # The middle, as everywhere else: the slowest tenth takes 12 ms.
    latency = re.search(r"× to ([\d.]+) ms", found.findings[0].evidence[0].sentence)
    assert latency is not None
    assert 10 < float(latency[1]) < 11
    most = re.search(r"at most ([\d,]+) IOPS", found.verdict.sentence)
    assert most is not None
    assert float(most[1].replace(",", "")) == round(iops.max())


@pytest.mark.parametrize(
    ("kernel", "verdict", "likely"),
    [(AWS, "D5", True), (OWN, None, True), (AZURE, None, False)],
)
def test_a_log_that_is_at_a_limit_throughout(tmp_path: Path, kernel: str, verdict: str | None, *, likely: bool) -> None:
    """gp3's 3,000 IOPS on AWS; elsewhere a number that a load may have; no limit of Azure's."""
    random = np.random.default_rng(4)
    iops = 3000 + random.normal(0, 4, COUNT)
    queue = iops * random.normal(0.009, 0.0015, COUNT)
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=queue, device="nvme1n1", kernel=kernel))
    assert found.verdict.rule == verdict, found.verdict
    assert ("D5" in rules(found)) is likely
    assert ("throttled volume" in found.ruled_out) is not likely
    if likely:
        throttle = next(finding for finding in found.findings if finding.rule == "D5")
        assert throttle.confidence < 0.65
        assert "without a quieter time" in throttle.evidence[0].sentence
        assert "quieter time" in str(throttle.refuted_by)


@pytest.mark.parametrize(("scatter", "latency_s"), [(0.015, 0.009), (0.001, 0.0003)])
def test_a_steady_rate_near_a_limit_is_no_throttle_for_certain(
    tmp_path: Path, scatter: float, latency_s: float
) -> None:
    random = np.random.default_rng(5)
    iops = 3000 * random.normal(1, scatter, COUNT)
    queue = iops * latency_s * random.normal(1, 0.1, COUNT)
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=queue, device="nvme1n1", kernel=AWS))
    assert found.verdict.rule in {None, "D25"}
    assert ("may be throttled" in "".join(each.what for each in found.findings)) is (latency_s > 0.005)


def test_latencies_in_milliseconds_are_a_unit_and_no_clock(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    rate, latency = random.normal(2000, 50, COUNT), random.normal(0.025, 0.002, COUNT)
    found = perfmon(tmp_path / "log", rate, latency, unit=1000)
    assert [check.rule for check in found.checks] == ["Q1"]
    assert "milliseconds" in found.checks[0].what
    right = perfmon(tmp_path / "right", rate, latency)
    assert not right.checks
    assert [each.what for each in found.findings] == [each.what for each in right.findings], "judged in seconds"


@pytest.mark.parametrize(("threads", "usual_ms", "kernel", "sure"), [
    (8, 4.0, OWN, 0.0),
    (48, 24.0, OWN, 0.45),
    (48, 24.0, AZURE, 0.6),
])  # fmt: skip
def test_as_many_threads_as_ever_make_a_round_number_by_their_latency(
    tmp_path: Path, threads: int, usual_ms: float, kernel: str, sure: float
) -> None:
    """8 threads at 4 ms are 2,000 IOPS, and nothing limits them; slow ones in a cloud may be limited."""
    random = np.random.default_rng(7)
    latency = np.where(SLOW, usual_ms * random.normal(1, 0.003, COUNT), 0.3 * random.normal(1, 0.08, COUNT))
    iops = np.where(SLOW, 1000 * threads / latency, 300 * random.normal(1, 0.08, COUNT))
    found = diagnosed(iostat(tmp_path / "log", iops=iops, queue=iops * latency / 1e3, device="sdc", kernel=kernel))
    assert max((each.confidence for each in found.findings if each.rule == "D5"), default=0.0) == sure


def test_of_two_rates_the_one_that_is_a_round_number_was_set(tmp_path: Path) -> None:
    """6,000 requests/s of 8 KiB move 49.2 MB/s, which is near the 50 MB/s that some disk is sold with."""
    found = perfmon(tmp_path / "log", np.where(SLOW, 6000.0, 1000.0), np.where(SLOW, 0.02, 0.0008))
    assert found.verdict.rule == "D5", found.verdict
    assert "it stays at 6,000 IOPS (49.2 MB/s), a round number" in found.verdict.sentence
