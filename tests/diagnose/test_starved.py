"""A disk that seems slow because its machine gets no processor, as steal, %RDY and its virtual disk show."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from make_iostat import START, STEP_S
from make_pdh import pdh, stamps
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Diagnosis, Outcome

COUNT = 120
SLOW = (np.arange(COUNT) >= 40) & (np.arange(COUNT) < 80)


def noise(seed: int, spread: float = 0.03) -> np.ndarray:
    return np.random.default_rng(seed).normal(1, spread, COUNT)


def iostat(path: Path, steal: np.ndarray, used: np.ndarray) -> Diagnosis:
    """1,000 reads per second, eight times as long in the slow time."""
    iops, latency = 1000 * noise(1), np.where(SLOW, 8.8, 1.1) * noise(2)
    lines = ["Linux 6.1.0-18-amd64 (db1) \t2026-03-02 \t_x86_64_\t(8 CPU)\n"]
    for place in range(COUNT):
        rate, wait = iops[place], latency[place]
        lines += [
            f"{START + timedelta(seconds=STEP_S * place):%Y-%m-%dT%H:%M:%S+0000}",
            "avg-cpu:  %user   %nice %system %iowait  %steal   %idle",
            f"{used[place]:.2f} 0.00 2.00 0.00 {steal[place]:.2f} {98 - used[place] - steal[place]:.2f}\n",
            "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util",
            f"vda {rate:.2f} 0.00 {8 * rate:.2f} 0.00 {wait:.2f} 0.00 {rate * wait / 1e3:.2f} 90.00\n",
        ]
    path.write_text("\n".join(lines))
    return diagnosed(path)


@pytest.mark.parametrize(
    ("steal", "used", "reason"),
    [
        (np.where(SLOW, 45.0, 1.0), np.full(COUNT, 40.0), "the host gives the processors to other machines"),
        (np.full(COUNT, 1.0), np.where(SLOW, 94.0, 40.0), "the processors are"),
    ],
)
def test_processors_that_are_missing_in_the_slow_time_explain_it(
    tmp_path: Path, steal: np.ndarray, used: np.ndarray, reason: str
) -> None:
    found = iostat(tmp_path / "log", steal, used)
    assert found.verdict.outcome is Outcome.HEALTHY
    assert found.verdict.sentence == f"Storage is not your bottleneck: {reason}."
    assert not {each.rule for each in found.findings} & {"D1", "D20", "L2"}
    assert "% in the slow time of vda and" in found.findings[0].evidence[0].sentence


@pytest.mark.parametrize("steal", [np.full(COUNT, 1.0), np.where(np.arange(COUNT) >= 80, 45.0, 1.0)])
def test_processors_that_are_missing_at_other_times_do_not(tmp_path: Path, steal: np.ndarray) -> None:
    assert iostat(tmp_path / "log", steal, np.full(COUNT, 40.0)).verdict.rule == "D20"


def written(path: Path, host: str, columns: dict[str, np.ndarray]) -> Path:
    rows = [[f"{value:.6f}" for value in row] for row in zip(*columns.values(), strict=True)]
    paths = [rf"\\{host}\{each}" for each in columns]
    path.write_text(pdh(rows, paths, zone="(PDH-CSV 4.0) (UTC)(0)", times=stamps(COUNT, step_s=5.0)))
    return path


@pytest.mark.parametrize(
    ("ready", "below_ms", "rule", "words"),
    [
        (160.0, 0.8, "D25", "the host gives the processors of sql01 to other machines"),
        (3.0, 0.8, "D25", "the time of 1 E: is spent in the guest, above its virtual disk"),
        (160.0, 11.5, "D20", "something else slows it"),
    ],
)
def test_the_hypervisor_tells_whether_a_slow_disk_is_slow(
    tmp_path: Path, ready: float, below_ms: float, rule: str, words: str
) -> None:
    host = written(
        tmp_path / "esx",
        "esx1",
        {
            r"Virtual Disk(sql01:scsi0:1)\Reads/sec": 1000 * noise(3),
            r"Virtual Disk(sql01:scsi0:1)\Average MilliSec/Read": np.where(SLOW, below_ms, 0.8) * noise(4),
            r"Group Cpu(71:sql01)\% Run": np.full(COUNT, 380.0),
            r"Group Cpu(71:sql01)\% Ready": np.where(SLOW, ready, 3.0),
        },
    )
    guest = written(
        tmp_path / "guest",
        "SQL01",
        {
            r"PhysicalDisk(1 E:)\Disk Reads/sec": 1000 * noise(5),
            r"PhysicalDisk(1 E:)\Avg. Disk sec/Read": np.where(SLOW, 0.012, 0.0009) * noise(6),
        },
    )
    found = diagnosed(host, guest)
    assert found.verdict.rule == rule, found.verdict
    assert words in found.verdict.sentence


@pytest.mark.parametrize("above", [True, False])
def test_a_disk_that_its_machine_slows_all_the_time_is_judged(tmp_path: Path, above: bool) -> None:
    """No moment without its machine's wait tells how fast the disk is by itself."""
    below = {
        r"Virtual Disk(sql01:scsi0:1)\Reads/sec": 1000 * noise(3),
        r"Virtual Disk(sql01:scsi0:1)\Average MilliSec/Read": (0.8 if above else 11.5) * noise(4),
    }
    guest = {
        r"PhysicalDisk(1 E:)\Disk Reads/sec": 1000 * noise(5),
        r"PhysicalDisk(1 E:)\Avg. Disk sec/Read": 0.012 * noise(6),
    }
    found = diagnosed(written(tmp_path / "esx", "esx1", below), written(tmp_path / "guest", "SQL01", guest))
    assert (found.verdict.outcome is Outcome.HEALTHY) is above, found.verdict
    if above:
        assert "is spent in the guest, above its virtual disk" in found.verdict.sentence
        assert any("1 E: takes 12.0 ms whenever it works" in each.sentence for each in found.findings[0].evidence)
