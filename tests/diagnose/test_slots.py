"""D1 between a guest's disk and its virtual disk: a queue that is full for a part of the time, as both logs show it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from make_pdh import pdh, stamps
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Diagnosis

COUNT, SERVICE_S = 240, 0.006
LOAD = 16 + 220 * np.clip(np.sin(np.arange(COUNT) / 9) + 0.4, 0, 1) + np.random.default_rng(3).uniform(0, 10, COUNT)
"""Requests outstanding in the guest."""


def written(path: Path, host: str, columns: dict[str, np.ndarray]) -> Path:
    rows = [[f"{value:.6f}" for value in row] for row in zip(*columns.values(), strict=True)]
    paths = [rf"\\{host}\{each}" for each in columns]
    path.write_text(pdh(rows, paths, zone="(PDH-CSV 4.0) (UTC)(0)", times=stamps(COUNT, step_s=5.0)))
    return path


def both(folder: Path, at_disk: np.ndarray, *, ready: float = 3.0) -> Diagnosis:
    """A guest's disk and its virtual disk, which has so many of the requests, and %RDY of the machine."""
    rates, noise = at_disk / SERVICE_S, np.random.default_rng(4).normal(1.04, 0.04, COUNT)
    host = {
        r"Virtual Disk(sql01:scsi0:1)\Reads/sec": rates,
        r"Virtual Disk(sql01:scsi0:1)\Average MilliSec/Read": 1e3 * SERVICE_S * noise,
        r"Group Cpu(71:sql01)\% Run": np.full(COUNT, 380.0),
        r"Group Cpu(71:sql01)\% Ready": np.full(COUNT, ready),
    }
    guest = {
        r"PhysicalDisk(1 E:)\Disk Reads/sec": rates,
        r"PhysicalDisk(1 E:)\Avg. Disk sec/Read": LOAD / rates,
    }
    return diagnosed(written(folder / "esx", "esx1", host), written(folder / "guest", "SQL01", guest))


@pytest.mark.parametrize("depth", [32, 64])
def test_a_queue_that_is_full_for_a_part_of_the_time(tmp_path: Path, depth: int) -> None:
    found = both(tmp_path, np.minimum(LOAD, depth))
    assert found.verdict.rule == "D1", found.verdict
    assert f"it lets {depth} requests through" in found.verdict.sentence
    words = found.findings[0].evidence[0].sentence
    assert words.startswith("In ")
    assert "of the slow time" in words
    assert "however many wait" in words


def test_a_machine_that_waits_for_processors_has_no_full_queue(tmp_path: Path) -> None:
    assert "D1" not in {each.rule for each in both(tmp_path, np.minimum(LOAD, 64), ready=160.0).findings}


def test_requests_at_the_virtual_disk_that_follow_the_load_are_no_full_queue(tmp_path: Path) -> None:
    found = both(tmp_path, LOAD / 4)
    assert "D1" not in {each.rule for each in found.findings}
