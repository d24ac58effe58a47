"""D32: discards that slow a disk's other requests, in logs of iostat."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from make_iostat import START
from test_surroundings import diagnosed

from fathom.diagnose.diagnose import Diagnosis, Outcome

COUNT = 90
DELETES = (np.arange(COUNT) >= 20) & (np.arange(COUNT) < 37)


def log(path: Path, reads: np.ndarray, read_ms: np.ndarray, discards: np.ndarray, discard_ms: float = 2.0) -> Diagnosis:
    """One NVMe disk, every second; each discard is of 130,000 KB."""
    head = "Device r/s w/s d/s rkB/s wkB/s dkB/s r_await w_await d_await aqu-sz %util"
    lines = ["Linux 6.5.0-35-generic (db1) \t2026-03-02 \t_x86_64_\t(24 CPU)\n"]
    for second in range(COUNT):
        read, each_ms, gone = reads[second], read_ms[second], discards[second]
        outstanding = (read * each_ms + gone * discard_ms) / 1e3
        row = f"{read:.2f} 0.00 {gone:.2f} {4 * read:.2f} 0.00 {130_000 * gone:.2f} {each_ms:.2f} 0.00 "
        row += f"{discard_ms if gone else 0:.2f} {outstanding:.2f} 100.00"
        stamp = f"{START.replace(minute=second // 60, second=second % 60):%Y-%m-%dT%H:%M:%S+0000}"
        lines += [stamp, head, f"nvme0n1 {row}", ""]
    path.write_text("\n".join(lines))
    return diagnosed(path)


def test_reads_that_wait_for_discards_are_no_health(tmp_path: Path) -> None:
    """Few requests are done in the slow time: by requests nearly all of them are fast."""
    found = log(
        tmp_path / "log",
        np.where(DELETES, 3900.0, 92_000.0),
        np.where(DELETES, 1.94, 0.07),
        np.where(DELETES, 490.0, 0),
    )
    assert found.verdict.rule == "D32"
    assert found.verdict.sentence.startswith(
        "Discards slow nvme0n1: reads and writes take 1.94 ms beside them and 0.0700 ms otherwise, 17 s of 90 s."
    )
    assert "3,900 reads and writes/s beside 490 discards/s" in found.findings[0].evidence[0].sentence
    assert any("fstrim.timer" in command for command in found.findings[0].remedies[0].commands)
    assert not {"L2", "D20", "D25", "Q1"} & {each.rule for each in found.findings}


@pytest.mark.parametrize(
    ("reads", "read_ms"),
    [
        # They cost little; or more is asked beside them, which is slower by itself.
        (88_000.0, 0.08),
        (92_000.0, 0.5),
    ],
)
def test_discards_that_cost_little_are_not_blamed(tmp_path: Path, reads: float, read_ms: float) -> None:
    found = log(
        tmp_path / "log",
        np.where(DELETES, reads, 92_000.0),
        np.where(DELETES, read_ms, 0.07),
        np.where(DELETES, 490.0, 0),
    )
    assert not any(each.rule == "D32" for each in found.findings)


def test_a_disk_that_is_slow_without_discards_is_not_slowed_by_them(tmp_path: Path) -> None:
    found = log(
        tmp_path / "log", np.where(DELETES, 3900.0, 92_000.0), np.where(DELETES, 1.94, 0.07), np.full(COUNT, 0.0)
    )
    assert found.verdict.outcome is not Outcome.LIMIT or found.verdict.rule != "D32"


@pytest.mark.parametrize("always", [0.0, 20.0])
def test_a_slow_time_of_discards_needs_no_other_user(tmp_path: Path, always: float) -> None:
    """As much is asked beside them as otherwise, and done: the rate need not fall."""
    reads = 900 * np.random.default_rng(5).lognormal(0, 0.2, COUNT)
    discards = np.where(DELETES, 400.0, always)
    found = log(tmp_path / "log", reads, np.where(DELETES, 16.0, 0.4), discards)
    assert (found.verdict.rule, found.verdict.confidence) == ("D32", 0.65)
    assert "D20" not in {each.rule for each in found.findings}


def test_a_slow_time_of_a_part_of_the_discards_is_not_theirs(tmp_path: Path) -> None:
    reads = 900 * np.random.default_rng(5).lognormal(0, 0.2, COUNT)
    often = (np.arange(COUNT) % 3 == 0) * 400.0
    found = log(tmp_path / "log", reads, np.where(DELETES, 16.0, 0.4), often)
    assert found.verdict.rule == "D20"
