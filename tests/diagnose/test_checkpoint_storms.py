"""D18 and D26: checkpoints that come back by the clock, with PostgreSQL's views and without."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from make_iostat import START, STEP_S, Disk, iostat
from test_surroundings import advice, diagnosed

COUNT = 360
PERIOD, LONG = 60, 8
PLACES = np.arange(COUNT)


def disk(storm: np.ndarray, *, written: bool = True) -> Disk:
    """400 reads/s, and 8,000 writes or more reads per second in a storm, in which each takes 46 ms."""
    random = np.random.default_rng(1)
    many = np.where(storm, 8000, 20) * random.normal(1, 0.02, COUNT)
    latency = np.where(storm, 46.0, 1.0) * random.normal(1, 0.02, COUNT)
    reads = 400 * random.lognormal(0, 0.2, COUNT)
    none = np.zeros(COUNT)
    return Disk(
        reads if written else reads + many, latency, many if written else none, latency, np.where(storm, 100.0, 30.0)
    )


def pg_stat_io(path: Path, writes: np.ndarray) -> Path:
    """The checkpointer's writes, every five seconds."""
    lines = ["now,backend_type,object,context,reads,read_time,writes,write_time,extends,op_bytes,stats_reset"]
    for at, total in enumerate(np.cumsum(STEP_S * writes)):
        now = f"{START + timedelta(seconds=STEP_S * at):%Y-%m-%d %H:%M:%S}.0+00"
        lines.append(
            f"{now},checkpointer,relation,normal,,,{int(total)},{total / 50:.3f},,8192,2026-01-04 03:00:00.1+00"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("long", [LONG, 4])
def test_the_checkpointer_of_pg_stat_io_tells_a_storm(tmp_path: Path, long: int) -> None:
    """Over a trickle of pages between, also where storms are rarer than one moment in ten."""
    storm = np.isin(PLACES % PERIOD, np.arange(long))
    log = iostat(tmp_path / "log", {"sda": disk(storm)}, kib=16)
    found = diagnosed(log, pg_stat_io(tmp_path / "views", np.where(storm, 8000, 30)))
    assert found.verdict.rule == "D18", found.verdict
    assert "reads take 4" in found.verdict.sentence
    assert "D26" not in {each.rule for each in found.findings}


def test_a_storm_that_comes_back_is_told_without_views(tmp_path: Path) -> None:
    found = diagnosed(iostat(tmp_path / "log", {"sda": disk(PLACES % PERIOD >= PERIOD - LONG)}, kib=16))
    said = " ".join(each.sentence for each in found.findings[0].evidence)
    assert found.verdict.rule == "D26", found.verdict
    assert "It comes back every 5.0 min, 6 times, for 40 s" in said
    assert "checkpoints of a database do that" in said
    assert found.findings[0].remedies[0].action.startswith("Record the database's checkpoints")


@pytest.mark.parametrize(("period", "kernel_first"), [(6, True), (60, False)])
def test_of_linux_the_kernel_that_writes_back_is_named_as_well(tmp_path: Path, period: int, kernel_first: bool) -> None:
    """Pages are written when they have been dirty for 30 s."""
    storm = PLACES % period >= period - (1 if kernel_first else LONG)
    found = diagnosed(iostat(tmp_path / "log", {"sda": disk(storm)}, kib=16))
    said = " ".join(each.sentence for each in found.findings[0].evidence)
    assert ("It comes back every 30 s" in said) is kernel_first
    assert ("dirty for 30 s (vm.dirty_expire_centisecs)" in said) is kernel_first
    assert "checkpoints of a database" in said
    commands = [command for each in found.findings[0].remedies[:2] for command in each.commands]
    assert any("vm.dirty_background_bytes" in each for each in commands)
    assert any("checkpoint_completion_target" in each for each in commands)
    assert ("vm.dirty" in commands[0]) is kernel_first


def test_reads_by_the_clock_are_a_job(tmp_path: Path) -> None:
    found = diagnosed(iostat(tmp_path / "log", {"sda": disk(PLACES % PERIOD >= PERIOD - LONG, written=False)}))
    said = " ".join(each.sentence for finding in found.findings for each in finding.evidence)
    assert "as a job does that runs by the clock" in said
    assert "checkpoints" not in advice(found)


def test_storms_at_random_moments_have_no_period(tmp_path: Path) -> None:
    starts = np.array([10, 50, 130, 160, 250, 330])
    storm = np.any([(at <= PLACES) & (at + LONG > PLACES) for at in starts], axis=0)
    found = diagnosed(iostat(tmp_path / "log", {"sda": disk(storm)}, kib=16))
    said = " ".join(each.sentence for finding in found.findings for each in finding.evidence)
    assert "It comes back" not in said
