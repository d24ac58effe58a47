"""Which file system a path is on: type, options, allocation unit, free space, and the device below."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mount:
    """One line of mountinfo: `device` is "major:minor", `options` those of the mount and of its super block."""

    device: str
    target: str
    kind: str
    source: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class FileSystem:
    """The file system under a path; sizes in bytes, `allocation_unit` its smallest piece of a file."""

    mount: Mount
    allocation_unit: int
    preferred_io: int
    total: int
    free: int

    @property
    def in_memory(self) -> bool:
        """Whether files live in memory: nothing measured here says anything about a disk."""
        return self.mount.kind in {"tmpfs", "ramfs", "devtmpfs"}


def existing(path: Path) -> Path:
    """The path, or the nearest directory above it that exists."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path


DESCRIBED = hasattr(os, "statvfs")
"""Whether this system reports its file systems as POSIX does; Windows does not."""


def file_system(path: Path) -> FileSystem:
    """The file system that holds a path (or would, if it does not exist yet).

    Raises:
        OSError: the path cannot be looked at.
    """
    path = existing(path).resolve()
    sizes = os.statvfs(path)
    return FileSystem(
        mount=mount_of(path, parse_mountinfo(Path("/proc/self/mountinfo").read_text(encoding="utf-8"))),
        allocation_unit=sizes.f_frsize,
        preferred_io=path.stat().st_blksize,
        total=sizes.f_frsize * sizes.f_blocks,
        free=sizes.f_frsize * sizes.f_bavail,
    )


def mount_of(path: Path, mounts: list[Mount]) -> Mount:
    """The mount whose target is the longest prefix of an absolute, resolved path; the later one where two are equal."""
    holding = [mount for mount in mounts if path == Path(mount.target) or Path(mount.target) in path.parents]
    return max(enumerate(holding), key=lambda item: (len(Path(item[1].target).parts), item[0]))[1]


def parse_mountinfo(text: str) -> list[Mount]:
    """The mounts of a mountinfo file, in its order (proc(5)); a line that is cut short is left out."""
    mounts = []
    for line in text.splitlines():
        left, separator, right = line.partition(" - ")
        fields, tail = left.split(" "), right.split(" ")
        if not separator or len(fields) < 6 or len(tail) < 3:
            continue
        options = dict.fromkeys(fields[5].split(",") + tail[2].split(","))
        mounts.append(Mount(fields[2], _unescape(fields[4]), tail[0], _unescape(tail[1]), tuple(options)))
    return mounts


def _unescape(text: str) -> str:
    """The text with mountinfo's octal escapes resolved (backslash 040 is a blank)."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)
