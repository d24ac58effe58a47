"""`fathom diagnose --watch`: records and diagnoses this host until Ctrl-C or q, and gives the terminal back."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/diskstats").exists(), reason="no Linux")
COMMAND = [sys.executable, "-m", "fathom", "diagnose", "--watch", "1"]
CODES = (0, 5, 6, 7)


def until(found: object, what: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not found():  # type: ignore[operator]
        assert time.monotonic() < end, what
        time.sleep(0.1)


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_ctrl_c_ends_with_the_summary_and_keeps_the_recording(tmp_path: Path) -> None:
    night = tmp_path / "night.fathom"
    child = subprocess.Popen(
        [*COMMAND, "night.fathom", "--html", "."], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    until(lambda: lines(night) >= 7, "no looks")
    child.send_signal(signal.SIGINT)
    out, error = child.communicate(timeout=60)
    assert child.returncode in CODES, error
    assert "Traceback" not in error
    assert ":" in out.splitlines()[0]
    assert (tmp_path / "diagnosis.html").exists()


def test_q_ends_it_and_the_terminal_is_as_before(tmp_path: Path) -> None:
    import termios

    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    child = subprocess.Popen([*COMMAND, "n"], cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
    shown = b""
    os.set_blocking(ours, False)

    def seen() -> bool:
        nonlocal shown
        with contextlib.suppress(BlockingIOError):
            shown += os.read(ours, 65536)
        return lines(tmp_path / "n") >= 6 and b"Recorded" in shown

    until(seen, "nothing was shown")
    os.write(ours, b"q")
    until(lambda: seen() and child.poll() is not None, "q did not end it")
    assert child.returncode in CODES
    assert termios.tcgetattr(theirs)[3] == before[3]
    os.close(ours)
    os.close(theirs)


def test_mistakes_are_told(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    done = subprocess.run([*COMMAND, "there"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, (tmp_path / "there").read_text()) == (4, "mine")
    assert "File exists" in done.stderr
    two = subprocess.run([*COMMAND, "a", "b"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert two.returncode == 2
