"""A limit that the user states is named where the rate sits at it all the time, with moderate confidence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from make_iostat import Disk, iostat

from fathom.diagnose import log as reader
from fathom.diagnose.diagnose import Diagnosis, diagnose
from fathom.diagnose.evidence import limits as tables

COUNT = 60
ALL = np.ones(COUNT)


def noise(seed: int, spread: float) -> np.ndarray:
    return np.random.default_rng(seed).normal(1, spread, COUNT)


def diagnosed(path: Path, made: Disk, limit: str) -> Diagnosis:
    stated = path / "limits.toml"
    stated.write_text(f'[[volume]]\nname = "our array, silver"\n{limit}\nsource = "contract"\n')
    with reader.read([iostat(path / "log", {"sda": made})]) as log:
        return diagnose(log, tables.load(stated))


def held(reads: float, writes: float, ms: float, scatter: float = 0.04) -> Disk:
    """A rate of reads that a limit holds, as counters show it that are read a little early or late."""
    return Disk(reads * noise(1, scatter), ms * noise(2, 0.05), writes * noise(3, 0.2), 5 * ALL, 96 * ALL)


@pytest.mark.parametrize(
    ("made", "limit", "said"),
    [
        (held(400, 8, 28), "iops = 400", "40"),
        (held(120, 54, 130, 0.005), "iops = 120", "120 reads/s"),
        (held(400, 8, 28), "bytes_per_s = 3276800", "3.2"),
    ],
)
def test_a_rate_at_a_stated_limit_all_the_time_is_held_there(tmp_path: Path, made: Disk, limit: str, said: str) -> None:
    found = diagnosed(tmp_path, made, limit)
    assert (found.verdict.rule, found.verdict.confidence) == ("D5", 0.6), found.verdict
    assert "a limit that you state (our array, silver)" in found.verdict.sentence
    assert f"it stays at {said}" in found.verdict.sentence
    assert "the application asks for just this rate" in str(found.findings[0].refuted_by)


@pytest.mark.parametrize(
    "made",
    [
        held(460, 8, 28),  # above the limit
        held(400, 8, 0.8),  # nobody waits
        held(400, 8, 28, 0.3),  # as fast as the load asks
        held(400, 0, 3.0),  # one outstanding
    ],
)
def test_a_rate_that_only_passes_a_stated_limit_is_not(tmp_path: Path, made: Disk) -> None:
    found = diagnosed(tmp_path, made, "iops = 400")
    assert "D5" not in {each.rule for each in found.findings}
