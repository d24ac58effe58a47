"""Whatever ends a campaign, the host is as it was: Ctrl-C, SIGTERM, kill -9 of the campaign or of a server."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fathom.host import leftovers, scratch

HERE = Path(__file__).parent
PATHS = os.pathsep.join(str(HERE.parents[1] / part) for part in ("python", "tests"))
PATIENCE_S = 120


def start(directory: Path, kind: str) -> subprocess.Popen[str]:
    """A campaign whose run has begun, over a real server."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "process.py"), str(directory), kind],
        env={**os.environ, "PYTHONPATH": PATHS, "TMPDIR": str(directory.parent)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("running"), line
    assert leftovers.find(directory).processes, "the server runs"
    return process


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_stopped_campaign_leaves_nothing(tmp_path: Path, kind: str, name: str) -> None:
    process = start(tmp_path / "c", kind)
    process.send_signal(getattr(signal, name))
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert not leftovers.find(tmp_path)
    assert list(tmp_path.rglob(f"{scratch.PREFIX}*")) == []
    assert list((tmp_path / "c/runs").iterdir()) == []


def test_a_second_interrupt_does_not_disturb_clearing_away(tmp_path: Path) -> None:
    process = start(tmp_path / "c", "postgresql")
    for _ in range(5):
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    process.communicate(timeout=PATIENCE_S)
    assert not leftovers.find(tmp_path)
    assert list(tmp_path.rglob(f"{scratch.PREFIX}*")) == []


STUDY = """
title = "a server that does not answer"
clock = "real"
[workload]
kind = "insert"
database = "pg"
duration = "60s"
[databases.pg]
kind = "postgresql"
"""


def test_a_second_interrupt_ends_what_waits_for_a_server_that_does_not_answer(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    command = [sys.executable, "-m", "fathom", "run", "study.toml", "-q", "--out", "c"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": PATHS}, stderr=subprocess.PIPE, text=True
    )
    sessions: set[int] = set()
    before: set[int] = set()
    until = time.monotonic() + PATIENCE_S
    while not sessions and time.monotonic() < until:
        time.sleep(1)
        now = {pid for pid in leftovers.find(tmp_path).processes if "postgres: fathom" in _command_line(pid)}
        # Those that make the tables end soon.
        sessions, before = now & before, now
    assert sessions, "one of them is the workload's"
    try:
        for pid in sessions:
            os.kill(pid, signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(4)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=10)
    finally:
        for pid in sessions:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
    assert process.returncode == 130
    assert "ended at once" in told
    scratch.remove_abandoned(tmp_path / "c")
    assert not leftovers.find(tmp_path)


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_after_kill_9_the_next_start_clears_away(tmp_path: Path, kind: str) -> None:
    process = start(tmp_path / "c", kind)
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    scratch.remove_abandoned(tmp_path / "c")
    scratch.remove_abandoned(tmp_path)
    assert not leftovers.find(tmp_path)
    assert list(tmp_path.rglob(f"{scratch.PREFIX}*")) == []
