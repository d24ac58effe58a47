"""Commits that wait for a disk which something else fills, or whose writes have a limit: no cache is at fault."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from test_surroundings import advice, diagnosed

from fathom.diagnose.diagnose import Diagnosis, Outcome

COUNT = 48
PLACES = np.arange(COUNT)
LATER = PLACES >= 24


def noise(seed: int, spread: float = 0.05) -> np.ndarray:
    return np.random.default_rng(seed).normal(1, spread, COUNT)


@dataclass
class Made:
    """A disk and the database on it, every 5 s: rates per second, times in ms."""

    writes: np.ndarray
    write_ms: np.ndarray
    flushes: np.ndarray
    flush_ms: np.ndarray
    kib: np.ndarray | float = 8.0
    reads: np.ndarray | float = 0.0
    read_ms: float = 1.0
    pages: np.ndarray | float = 0.0
    commit_ms: np.ndarray | float = 0.0
    waiting: int = 2

    rows: dict[str, np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = {name: np.broadcast_to(value, COUNT) for name, value in vars(self).items() if name != "rows"}

    def iostat(self, path: Path) -> Path:
        lines = ["Linux 6.1.0 (db1) \t2026-03-02 \t_x86_64_\t(8 CPU)\n"]
        for at in range(COUNT):
            row = {name: float(values[at]) for name, values in self.rows.items()}
            load = (row["writes"] * row["write_ms"] + row["flushes"] * row["flush_ms"] + row["reads"]) / 1e3
            lines += [
                f"2026-03-02T22:{at // 12:02}:{at * 5 % 60:02}+0000",
                "Device r/s rkB/s r_await w/s wkB/s w_await f/s f_await aqu-sz %util",
                (
                    f"sdb {row['reads']:.2f} {8 * row['reads']:.2f} {row['read_ms']:.2f} {row['writes']:.2f} "
                    f"{row['kib'] * row['writes']:.2f} {row['write_ms']:.2f} {row['flushes']:.2f} "
                    f"{row['flush_ms']:.2f} {load:.2f} 99.00\n"
                ),
            ]
        path.write_text("\n".join(lines))
        return path

    def postgresql(self, path: Path) -> Path:
        wal = ["now,wal_records,wal_bytes,wal_write,wal_sync,wal_write_time,wal_sync_time"]
        writer = ["now,checkpoints_timed,checkpoints_req,buffers_checkpoint,buffers_clean,maxwritten_clean"]
        waits = ["now,wait_event_type,wait_event,state,sessions"]
        syncs, times, pages = (
            np.cumsum(5 * each)
            for each in (self.rows["flushes"], self.rows["flushes"] * self.rows["commit_ms"], self.rows["pages"])
        )
        for at in range(COUNT):
            now, count = f"2026-03-02 22:{at // 12:02}:{at * 5 % 60:02}+00", round(syncs[at])
            wal.append(f"{now},{9 * count},{count * 9000},{count},{count},0,{times[at]:.0f}")
            writer.append(f"{now},0,{at // 8},{pages[at]:.0f},0,0")
            waits.append(f"{now},IO,WALSync,active,{self.waiting}")
        path.write_text("\n".join([*wal, *writer, *waits]) + "\n")
        return path

    def diagnosed(self, folder: Path) -> Diagnosis:
        return diagnosed(self.iostat(folder / "disks"), self.postgresql(folder / "database"))


def copied_over() -> Made:
    """A copy keeps the disk at 25 MB/s in the second half; hardly a commit ends then."""
    waits = np.resize([800.0, 1600.0, 2400.0, 3300.0], COUNT)
    return Made(
        writes=np.where(LATER, 21.0, 70.0 * noise(1)), write_ms=np.where(LATER, waits, 0.5) * noise(2),
        flushes=np.where(LATER, 0.8, 60.0 * noise(3)), flush_ms=np.where(LATER, 20.0, 5.0),
        kib=np.where(LATER, 1170.0, 10.0), commit_ms=np.where(LATER, 950.0, 9.0),
    )  # fmt: skip


def test_commits_that_wait_for_a_copy_have_no_cache_to_look_at(tmp_path: Path) -> None:
    found = copied_over().diagnosed(tmp_path)
    assert found.verdict.rule in {"D5", "D26"}, found.verdict
    commits = next(each for each in found.findings if each.rule == "D10")
    assert commits.confidence < 0.5
    assert "ms while no other writes fill the disk" in commits.what
    assert "storcli64" not in advice(found)
    assert "cache" not in commits.what


def test_a_checkpoint_comes_before_the_commits_that_wait_for_it(tmp_path: Path) -> None:
    """Checkpoints follow one another: the fast ones alone slow the log, and no read."""
    pages = np.where(LATER, 250.0, 530.0) * noise(4)
    made = Made(
        writes=np.where(LATER, 400.0, 540.0) * noise(5), write_ms=np.where(LATER, 6.5, 19.0) * noise(6),
        flushes=np.where(LATER, 80.0, 30.0) * noise(7), flush_ms=5.0 * noise(8), reads=150.0 * noise(9),
        pages=pages, commit_ms=np.where(LATER, 10.0, 29.0) * noise(10), kib=16.0,
    )  # fmt: skip
    found = made.diagnosed(tmp_path)
    assert (found.verdict.outcome, found.verdict.rule) == (Outcome.LOAD, "D18"), found.verdict
    assert "flushes of the log take 28." in found.verdict.sentence
    assert "D20" not in {each.rule for each in found.findings}
    assert "storcli64" not in advice(found)
    assert found.findings[0].harm


@pytest.mark.parametrize("log", ["iostat", "both"])
def test_writes_at_a_limit_are_told_from_a_slow_flush(tmp_path: Path, log: str) -> None:
    """75 writes/s that never move, at 12 ms, beside reads of 1 ms: the medium is fast."""
    made = Made(
        writes=75.0 * noise(11, 0.01), write_ms=12.0 * noise(12), flushes=37.0 * noise(13, 0.01),
        flush_ms=5.0 * noise(14), reads=230.0 * noise(15), commit_ms=25.0 * noise(16), kib=13.0,
    )  # fmt: skip
    found = diagnosed(made.iostat(tmp_path / "disks")) if log == "iostat" else made.diagnosed(tmp_path)
    assert found.verdict.rule == "D10", found.verdict
    assert "at a rate that never moves, as at a limit on writes" in found.verdict.sentence
    assert "io.max" in advice(found)
    assert "storcli64" not in advice(found)


def test_a_turning_disk_has_a_level_rate_as_well(tmp_path: Path) -> None:
    """One write in a turn of 11 ms, and nothing that shows a faster medium."""
    made = Made(writes=90.0 * noise(17, 0.01), write_ms=11.0 * noise(18), flushes=90.0 * noise(17, 0.01),
                flush_ms=0.2 * noise(19))  # fmt: skip
    found = diagnosed(made.iostat(tmp_path / "disks"))
    assert found.verdict.rule == "D10", found.verdict
    assert "no cache is safe" in found.verdict.sentence
    assert "storcli64" in advice(found)


@pytest.mark.parametrize(("flushes", "write_ms", "flush_ms"), [(10.0, 49.0, 6.0), (80.0, 7.0, 2.0)])
def test_commits_of_a_part_of_the_log_are_judged_by_themselves(
    tmp_path: Path, flushes: float, write_ms: float, flush_ms: float
) -> None:
    """Ten slow flushes per second, or many small files that are synced; the rest of the log is idle."""
    at_work = PLACES < 30
    made = Made(
        writes=np.where(at_work, 2 * flushes, 0.0), write_ms=write_ms * noise(20),
        flushes=np.where(at_work, flushes, 0.0), flush_ms=flush_ms * noise(21),
    )  # fmt: skip
    assert diagnosed(made.iostat(tmp_path / "disks")).verdict.rule == "D10"


def test_a_stall_makes_no_commit_slow(tmp_path: Path) -> None:
    """One flush of 5 s among short ones that come now and then."""
    flush_ms = 2.0 * noise(22)
    flush_ms[20] = 5000.0
    made = Made(writes=20.0 * noise(23), write_ms=1.0 * noise(24), flushes=10.0 * noise(25), flush_ms=flush_ms)
    assert "D10" not in {each.rule for each in diagnosed(made.iostat(tmp_path / "disks")).findings}
