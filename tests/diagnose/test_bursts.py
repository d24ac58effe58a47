"""Loads of software RAID that come in bursts and rest in between: neither a stall nor a slow member."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from make_iostat import Disk, iostat
from test_surroundings import diagnosed

COUNT = 180
PLACES = np.arange(COUNT)
NONE = np.zeros(COUNT)


def writer(rate: np.ndarray, latency_ms: np.ndarray) -> Disk:
    return Disk(NONE, NONE, rate, latency_ms, np.minimum(100.0, rate / 50))


def noise(seed: int, scatter: float = 0.05) -> np.ndarray:
    return np.random.default_rng(seed).normal(1, scatter, COUNT)


def test_a_mirror_in_software_is_not_one_of_its_own_members(tmp_path: Path) -> None:
    """md2 writes what each of its members does; bursts wait in it, and their end in the moment after."""
    burst, after = PLACES % 30 == 12, PLACES % 30 == 13
    rate = np.where(burst, 18_000.0, np.where(after, 1300.0, 2200.0)) * noise(1)
    members = {
        name: writer(rate, np.where(burst, 4.0, 0.1) * noise(seed)) for seed, name in enumerate(("nvme0n1", "nvme1n1"))
    }
    over = writer(rate, np.where(burst, 80.0, np.where(after, 140.0, 0.12)) * noise(4))
    found = diagnosed(iostat(tmp_path / "log", {**members, "md2": over}))
    assert not {"D24", "D27"} & {each.rule for each in found.findings}, found.verdict


@pytest.mark.parametrize(("waited_ms", "stalls"), [(1.9, False), (11.0, True)])
def test_a_load_that_rests_leaves_no_requests_that_waited(tmp_path: Path, waited_ms: float, *, stalls: bool) -> None:
    """Ten seconds without a request, and then twice as many as usual: after a stall they have waited as well."""
    rests, after = (PLACES == 90) | (PLACES == 91), PLACES == 92
    rate = np.where(rests, 0.0, np.where(after, 1400.0, 700.0)) * noise(1)
    each_ms = np.where(rests, 0.0, np.where(after, waited_ms, 1.2)) * noise(2)
    found = diagnosed(iostat(tmp_path / "log", {"md2": writer(rate, each_ms)}))
    assert any(each.rule == "D24" for each in found.findings) is stalls, found.verdict


def test_a_disk_with_less_than_one_outstanding_has_shown_no_highest_rate(tmp_path: Path) -> None:
    outstanding = np.where((PLACES >= 60) & (PLACES < 110), 2.0, 0.4) * (1 + 0.3 * np.sin(PLACES)) * noise(1, 0.02)
    rate = np.minimum(outstanding / 0.076e-3, 6900.0) * noise(2, 0.01)
    found = diagnosed(iostat(tmp_path / "log", {"nvme0n1": writer(rate, outstanding / rate * 1e3)}))
    assert not any(each.rule == "L1" for each in found.findings)
