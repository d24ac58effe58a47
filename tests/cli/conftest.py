"""The command line as users start it, in an empty directory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fathom.cli import main

PYTHON = Path(__file__).parents[2] / "python"

STUDY = """\
title = "Small or large requests?"
question = "Does the size of a request matter on this disk?"
clock = "virtual"

[volumes.disk]
kind = "model"
size = "1GiB"
servers = 4
read = { latency = "1ms" }

[workload]
kind = "io"
volumes = ["disk"]
size = "8KiB"
outstanding = 8
duration = "2s"

[factors]
"workload.size" = ["8KiB", "64KiB"]

[compare]
metric = "iops"
baseline = { "workload.size" = "8KiB" }
equivalent_within = "2%"
rounds = 3

[quick]
"workload.duration" = "50ms"
"""

INSERT = """\
title = "One transaction per row, or one for all?"

[workload]
kind = "insert"
rows = 200

[factors]
"workload.transaction" = ["per-row", "whole-batch"]

[compare]
metric = "rows_per_second"
baseline = { "workload.transaction" = "per-row" }
rounds = 2
"""

Run = Callable[..., "Done"]

PLAIN = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
"""A terminal of 100 columns without colour."""


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code and what it printed."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def fathom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs `fathom ARGUMENTS...` in an empty directory and gives exit code and output.

    In this process: the heavy libraries are imported once for all tests. `start` has real processes.
    """
    monkeypatch.chdir(tmp_path)
    for name, value in PLAIN.items():
        monkeypatch.setenv(name, value)
    # Signals of one test are no first ones for the next.
    monkeypatch.setattr("fathom.cli.app.end_at_the_second", lambda code: None)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def run(*arguments: str | Path) -> Done:
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["fathom", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capfd.readouterr()
        return Done(int(end.value.code or 0), printed.out, printed.err)

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts `fathom ARGUMENTS...` and does not wait for it."""

    def begin(*arguments: str | Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "fathom", *map(str, arguments)]
        pipe = subprocess.PIPE
        environment = {**os.environ, **PLAIN, "PYTHONPATH": str(PYTHON)}
        return subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True)

    return begin


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study in virtual time: two variants, three rounds."""
    path = tmp_path / "sizes.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def insert(tmp_path: Path) -> Path:
    """A study on real SQLite: two variants, two rounds, a second or so."""
    path = tmp_path / "insert.toml"
    path.write_text(INSERT)
    return path
