"""What a crash or a full disk leaves behind: whole runs, and a campaign that can go on."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fathom import results
from fathom.plan import plan
from fathom.run import Options, execute
from fathom.study import Study

HERE = Path(__file__).parent
PATHS = os.pathsep.join(str(HERE.parents[1] / part) for part in ("python", "tests"))


def start(directory: Path, seconds: float, rounds: int) -> subprocess.Popen[str]:
    """A campaign in a process of its own."""
    command = [sys.executable, str(HERE / "process.py"), str(directory), str(seconds), str(rounds)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": PATHS}, stderr=subprocess.PIPE, text=True)


def test_kill_in_the_middle_leaves_a_campaign_that_goes_on(
    make_engine: Any, make_notes: Any, study: Study, tmp_path: Path
) -> None:
    dice = random.Random(5)
    finished = 0
    for _ in range(6):
        process = start(tmp_path / "c", 0.01, 30)
        deadline = time.monotonic() + 120
        while len(list((tmp_path / "c" / "runs").glob("0*"))) < finished + 3 and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(dice.uniform(0, 0.05))
        process.kill()
        process.communicate()
        found = results.read(tmp_path / "c")
        assert len(found.runs) >= finished + 3
        assert all(run.ok and run.samples() is not None and run.histograms() is not None for run in found.runs)
        finished = len(found.runs)
    engine = make_engine()
    found = execute(plan(study, rounds=30), Options(tmp_path / "c"), engine, make_notes())
    assert (len(found.runs), len(engine.calls)) == (180, 180 - finished)
    leftovers = [place.name for place in (tmp_path / "c").rglob(".*") if place.name != ".lock"]
    assert leftovers == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 600 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a small file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_keeps_finished_runs_and_says_what_to_do(
    make_engine: Any, make_notes: Any, study: Study, small_disk: Path
) -> None:
    directory = small_disk / "c"
    process = start(directory, 0, 30)
    _, message = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "cannot write: No space left on device" in message
    assert "free some space and run the same command again" in message
    assert len(message.splitlines()) <= 24
    found = results.read(directory)
    assert 0 < len(found.runs) < 180
    assert all(run.samples() is not None for run in found.runs)
    assert [place for place in directory.rglob(".*") if place.name != ".lock"] == []
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    engine = make_engine()
    assert len(execute(plan(study, rounds=30), Options(directory), engine, make_notes()).runs) == 180
    assert len(engine.calls) == 180 - len(found.runs)
