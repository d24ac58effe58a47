"""Samples of logs, small and made here or cut from a source that their README names."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def samples() -> Path:
    """The folder of samples."""
    return Path(__file__).parent / "samples"
