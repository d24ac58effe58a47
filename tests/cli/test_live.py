"""What a person sees while a study is measured: figures of the last interval, on a terminal and in a log."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fathom.cli.progress import Lines
from fathom.engine import core
from fathom.plan import plan
from fathom.study import load

from .conftest import PYTHON

STUDY = """\
title = "A disk"

[volumes.disk]
kind = "model"
size = "64MiB"
servers = 4
read = { latency = "1ms" }

[workload]
kind = "io"
volumes = ["disk"]
size = "8KiB"
outstanding = 8
duration = "3s"

[compare]
metric = "iops"
rounds = 1
"""


def on_a_terminal(arguments: list[str], place: Path) -> tuple[int, str]:
    """Exit code and everything a terminal of 120 columns was sent."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40", "PYTHONPATH": str(PYTHON)}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "fathom", *arguments]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=place, env=environment)
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    return process.wait(), re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode(errors="replace"))


def test_a_terminal_shows_rate_latency_outstanding_and_time_left(tmp_path: Path) -> None:
    (tmp_path / "disk.toml").write_text(STUDY, encoding="utf-8")
    code, seen = on_a_terminal(["run", "disk.toml", "--out", "c"], tmp_path)
    assert code == 0, seen
    assert re.search(r"\d+ s left +[\d,]+ IOPS, [\d.]+ ms, [\d.]+ outstanding", seen), seen[-2000:]


def test_a_log_gets_a_plain_line_now_and_then(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "disk.toml"
    path.write_text(STUDY, encoding="utf-8")
    planned = plan(load(path, core(), clock="real", models=()))
    (run,) = planned.runs
    for every_s, lines in ((0.0, 1), (60.0, 0)):
        watching = Lines(every_s=every_s)
        watching.campaign(planned, 0)
        watching.run_begins(run)
        watching.progress(run, 0.5, "4,000 IOPS, 2 ms, 8 outstanding")
        watching.run_ends(run, 3.0, None)
        told = capfd.readouterr().err
        assert len(re.findall(r"^\[1/1\] 50 %: 4,000 IOPS, 2 ms, 8 outstanding \(\d+ s left\)$", told, re.M)) == lines
        assert "\x1b" not in told
