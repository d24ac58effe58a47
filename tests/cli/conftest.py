"""The command line as users start it: a process of its own, in an empty directory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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

Run = Callable[..., subprocess.CompletedProcess[str]]


def environment() -> dict[str, str]:
    """The environment of every command: this source tree, a terminal of 100 columns, no colour."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("_")}
    return {**kept, "PYTHONPATH": str(PYTHON), "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


@pytest.fixture
def fathom(tmp_path: Path) -> Run:
    """Runs `fathom ARGUMENTS...` in an empty directory and gives exit code and output."""

    def run(*arguments: str | Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "fathom", *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=timeout, check=False
        )

    return run


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts `fathom ARGUMENTS...` and does not wait for it."""

    def begin(*arguments: str | Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "fathom", *map(str, arguments)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=pipe, stderr=pipe, text=True)

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
