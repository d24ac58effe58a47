"""Files that only one process may have, and directories on disk, on every system that Fathom's pipeline runs on."""

from __future__ import annotations

import os
from pathlib import Path

NO_INHERIT = getattr(os, "O_CLOEXEC", getattr(os, "O_NOINHERIT", 0))
"""Flag for `os.open`: children do not get the descriptor."""

_BYTE = 1 << 30
"""Where Windows locks: behind the text, which others may then still read."""


def lock(descriptor: int, *, wait: bool) -> None:
    """Takes an open file for this process; closing it, or the process's end, gives it back.

    Raises:
        BlockingIOError: another process has it, and `wait` is False.
    """
    try:
        import fcntl
    except ImportError:
        _lock_windows(descriptor, wait=wait)
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _lock_windows(descriptor: int, *, wait: bool) -> None:
    import msvcrt
    from typing import Any

    windows: Any = msvcrt
    os.lseek(descriptor, _BYTE, os.SEEK_SET)
    try:
        windows.locking(descriptor, windows.LK_LOCK if wait else windows.LK_NBLCK, 1)
    except OSError as problem:
        raise BlockingIOError(problem.errno, "locked by another process") from None
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)


def sync_directory(path: Path) -> None:
    """Makes names in a directory durable. Windows has no such call: there NTFS's log does it."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY | NO_INHERIT)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
