"""Fixtures of the pipeline's tests: the fake engine, an observer, and a study to plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathom.study import Study, parse
from pipeline.fake import STUDY, FakeEngine, Notes


@pytest.fixture
def engine() -> FakeEngine:
    """An engine without failures."""
    return FakeEngine()


@pytest.fixture(scope="session")
def study() -> Study:
    """Two factors, six variants, three rounds."""
    return parse(STUDY, Path("study.toml"), FakeEngine())  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def virtual_study() -> Study:
    """The same in virtual time, on a volume that is a model."""
    volume = '[volumes.disk]\nkind = "memory"\nsize = "1GiB"\n'
    text = STUDY.replace('kind = "insert"', 'kind = "insert"\nvolume = "disk"') + volume
    return parse(text, Path("study.toml"), FakeEngine(), clock="virtual")  # type: ignore[arg-type]


@pytest.fixture
def notes() -> Notes:
    """An observer that never stops anything."""
    return Notes()


@pytest.fixture(scope="session")
def make_notes() -> type[Notes]:
    """The observer's class."""
    return Notes


@pytest.fixture(scope="session")
def make_engine() -> type[FakeEngine]:
    """The engine's class; `failure(reason, message)` is what it raises for a failed run."""
    return FakeEngine
