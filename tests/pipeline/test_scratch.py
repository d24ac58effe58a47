"""Scratch directories: made whole, given back, and removed after an owner that was killed at any moment."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fathom import locking
from fathom.host import scratch


def half_made(parent: Path, name: str, *, age_s: float, lock: bool = True) -> Path:
    """What an owner leaves that is killed before the directory has its name."""
    place = parent / f".fathom-new-{name}"
    place.mkdir()
    if lock:
        (place / "in-use").touch()
    then = time.time() - age_s
    os.utime(place, (then, then))
    return place


def test_a_directory_is_there_and_then_nothing(tmp_path: Path) -> None:
    with scratch.directory(tmp_path) as place:
        assert place.name.startswith(scratch.PREFIX)
        assert list(tmp_path.iterdir()) == [place]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("lock", [True, False])
def test_what_was_half_made_is_removed_once_nobody_can_be_making_it(tmp_path: Path, lock: bool) -> None:
    old = half_made(tmp_path, "old", age_s=3600, lock=lock)
    fresh = half_made(tmp_path, "fresh", age_s=0, lock=lock)
    with scratch.directory(tmp_path):
        assert not old.exists()
        assert fresh.exists(), "somebody may be at it this moment"


def test_one_in_use_stays_whatever_its_age(tmp_path: Path) -> None:
    used = half_made(tmp_path, "used", age_s=3600)
    lock = os.open(used / "in-use", os.O_RDWR)
    locking.lock(lock, wait=True)
    try:
        scratch.remove_abandoned(tmp_path)
        assert used.exists()
    finally:
        os.close(lock)


def test_one_that_cannot_be_locked_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(descriptor: int, *, wait: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(locking, "lock", interrupted)
    with pytest.raises(KeyboardInterrupt), scratch.directory(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
