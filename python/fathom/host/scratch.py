"""Scratch space for a run: a directory on the disk under test that is always removed.

A directory left by a process that was killed is recognised by its lock and removed by the next one; a lone scratch file
is unlinked before it is used, so that not even `kill -9` leaves it behind.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fathom import locking
from fathom.errors import FathomError, UsageError
from fathom.host import leftovers
from fathom.host.signals import deferring_signals

PREFIX = ".fathom-scratch-"
_LOCK = "in-use"
_UNLOCKED = ".fathom-new-"
_BEGINNING_S = 60.0
"""An unlocked directory of that age is not being made any more: its owner was killed in between."""


@contextmanager
def directory(parent: Path) -> Iterator[Path]:
    """A fresh directory below `parent`, removed at the end; abandoned ones beside it are removed first.

    Its path is absolute, wherever `parent` begins: database servers change their working directory.

    Raises:
        UsageError: the parent is no directory.
        FathomError: nothing can be created there.
    """
    parent = parent.absolute()
    check(parent)
    try:
        remove_abandoned(parent)
        place, lock = _made(parent)
    except OSError as problem:
        raise _unusable(parent, problem) from None
    try:
        yield place
    finally:
        with deferring_signals():
            if os.name == "nt":
                # An open file cannot be removed there; elsewhere the lock is kept until nothing is left.
                os.close(lock)
            shutil.rmtree(place, ignore_errors=True)
            if os.name != "nt":
                os.close(lock)


def check(parent: Path) -> None:
    """Refuses a place that is no directory: one made here in place of a disk that is not mounted is on another disk.

    Raises:
        UsageError: it is none.
    """
    if not parent.is_dir():
        raise UsageError(
            f"{parent}: {'not a directory' if parent.exists() else 'this directory does not exist'}",
            "name a directory on the disk to be measured; mount the disk first",
        )


def _made(parent: Path) -> tuple[Path, int]:
    """A new directory and the descriptor of its lock, held."""
    fresh = Path(tempfile.mkdtemp(prefix=_UNLOCKED, dir=parent))
    try:
        lock = os.open(fresh / _LOCK, os.O_CREAT | os.O_RDWR | locking.NO_INHERIT, 0o600)
        locking.lock(lock, wait=True)
        # Named as scratch only once it is locked: before that it would look abandoned. Windows renames no directory in
        # which a file is open; there only the lock shows which process uses it.
        named = parent / fresh.name.replace(_UNLOCKED, PREFIX)
        return (fresh if os.name == "nt" else fresh.rename(named)), lock
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def empty(place: Path) -> None:
    """Removes a run's own directory and everything in it."""
    with deferring_signals():
        shutil.rmtree(place, ignore_errors=True)


def remove_abandoned(parent: Path) -> None:
    """Removes scratch directories whose owner no longer runs: also those that it had no time to lock."""
    for place in [*parent.glob(f"{PREFIX}*"), *parent.glob(f"{_UNLOCKED}*")]:
        try:
            unlocked = place.name.startswith(_UNLOCKED)
            if unlocked and time.time() - place.stat().st_mtime < _BEGINNING_S:
                continue
            lock = os.open(place / _LOCK, os.O_RDWR | locking.NO_INHERIT | (os.O_CREAT if unlocked else 0), 0o600)
        except OSError:
            continue  # being made or being removed by its owner, or another user's
        try:
            locking.lock(lock, wait=False)
            leftovers.remove(place)
            shutil.rmtree(place, ignore_errors=True)
        except BlockingIOError:
            continue  # in use
        finally:
            os.close(lock)


@contextmanager
def unlinked_file(parent: Path) -> Iterator[tuple[int, Path]]:
    """An empty file on the file system of `parent` without a name: a descriptor, and a path by which it can be opened.

    Raises:
        FathomError: nothing can be created there.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=PREFIX, dir=parent)
        Path(name).unlink()
    except OSError as problem:
        raise _unusable(parent, problem) from None
    try:
        yield descriptor, Path(f"/proc/{os.getpid()}/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _unusable(parent: Path, problem: OSError) -> FathomError:
    return FathomError(
        f"{parent}: cannot create scratch files: {problem.strerror}",
        "name a directory that you may write to, on the disk to be measured",
    )
