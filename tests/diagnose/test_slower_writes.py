"""D36: writes that became slower for good at one moment, and at the same load."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from make_iostat import Disk, iostat
from test_surroundings import diagnosed
from test_throttle import AWS, OWN

from fathom.diagnose.diagnose import Diagnosis, Outcome

COUNT = 300
PLACES = np.arange(COUNT)
LATER = PLACES >= 120


def log(
    path: Path, slow: np.ndarray, *, times: float = 7.0, more: float = 1.0, reads: float = 1.0, kernel: str = OWN
) -> Diagnosis:
    """A log and a data disk whose writes go to a cache, while it is on."""
    random = np.random.default_rng(11)

    def disk(write_ms: float, rate: float) -> Disk:
        noise = random.normal(1, 0.05, (4, COUNT))
        writes = np.where(slow, more, 1.0) * rate * noise[0]
        return Disk(
            400 * noise[1],
            np.where(slow, reads, 1.0) * 0.9 * noise[2],
            writes,
            np.where(slow, times, 1.0) * write_ms * noise[3],
            np.full(COUNT, 40.0),
        )

    return diagnosed(iostat(path, {"sda": disk(0.6, 250.0), "sdb": disk(0.4, 150.0)}, kernel=kernel))


def test_the_moment_is_told_beside_a_healthy_storage(tmp_path: Path) -> None:
    found = log(tmp_path / "log", LATER)
    assert found.verdict.outcome is Outcome.HEALTHY
    notes = [each for each in found.findings if each.rule == "D36"]
    assert [each.subject for each in notes] == ["sda", "sdb"]
    assert "Writes to sdb take 2.8" in notes[1].what
    assert notes[1].evidence[0].start_ns == notes[0].evidence[0].start_ns
    assert "storcli64 /call/bbu show all" in notes[0].remedies[0].commands


@pytest.mark.parametrize(
    ("changed", "slow"),
    [
        ({"times": 2.0}, LATER),
        ({"more": 2.0}, LATER),  # more is written
        ({"reads": 3.0}, LATER),  # reads are slower, too: no cache of writes
        ({"kernel": AWS}, LATER),  # nobody can look at it
        ({}, LATER & (PLACES < 200)),  # it came back
        ({}, PLACES % 40 < 20),
    ],
)
def test_what_comes_back_or_has_another_reason_is_no_lost_cache(
    tmp_path: Path, changed: dict[str, object], slow: np.ndarray
) -> None:
    found = log(tmp_path / "log", slow, **changed)  # type: ignore[arg-type]
    assert "D36" not in {each.rule for each in found.findings}
