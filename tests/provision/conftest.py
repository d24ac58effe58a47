"""Fixtures of the provisioning tests: what is wanted, in short; and the certainty that nothing is left."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fathom.host import leftovers
from fathom.provision.requirements import Requirements, read
from fathom.study import Study, parse
from pipeline.fake import STUDY, FakeEngine

PLAIN: dict[str, Any] = {
    "place": None, "log_place": None, "temp_place": None, "settings": {},
    "cpus": None, "connect": None, "standby": None,
}  # fmt: skip
PLACE: dict[str, Any] = {
    "kind": "volume", "filesystem": "ext4", "block_bytes": None, "mount_options": None, "sector": 512,
}  # fmt: skip

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")


def wants(
    databases: dict[str, dict[str, Any]],
    places: dict[str, dict[str, Any]] | None = None,
    volumes: dict[str, dict[str, Any]] | None = None,
) -> Requirements:
    """As the engine would say it, defaults filled in."""
    return read(
        {
            "databases": {name: {**PLAIN, **given} for name, given in databases.items()},
            "places": {
                name: {**PLACE, **given} if "volume" in given else {"kind": "directory", "path": None, **given}
                for name, given in (places or {}).items()
            },
            "volumes": volumes or {},
            "loads": {},
        }
    )


@pytest.fixture(scope="session")
def study() -> Study:
    """Two variants, one round."""
    text = STUDY.replace("8192, 16384", "8192").replace('"per-row", "whole-batch"', '"per-row"')
    return parse(text, Path("study.toml"), FakeEngine())  # type: ignore[arg-type]


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """A run's own directory; nothing but files may be left in it."""
    place = tmp_path / "scratch"
    place.mkdir()
    yield place
    left = leftovers.remove(tmp_path)
    assert not left, left.words()
