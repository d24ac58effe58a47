"""What killing daemons takes: root, FUSE, loop devices, and the daemon that the Rust tests have built."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fathom.errors import UsageError
from fathom.host import fathomd

ROOT = Path(__file__).parents[2]


@pytest.fixture
def possible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skips where it is not."""
    if os.geteuid() != 0 or not Path("/dev/fuse").exists() or not Path("/dev/loop-control").exists():
        pytest.skip("needs root, /dev/fuse and loop devices")
    built = ROOT / "target" / "quick" / fathomd.PROGRAM
    if "FATHOMD" not in os.environ and built.exists():
        monkeypatch.setenv("FATHOMD", str(built))
    try:
        fathomd.program()
    except UsageError as problem:
        pytest.skip(f"{problem.what}: {problem.remedy}")
