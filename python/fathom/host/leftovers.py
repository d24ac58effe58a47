"""What a killed process left below one of its directories: servers, mounts, loop devices. Found by their location.

Nothing needs to be written down beforehand: every server that is started here runs in a directory below the scratch
directory, every mount point and every file behind a loop device is below it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from fathom.host import mounts

_PATIENCE_S = 30.0
_DELETED = " (deleted)"


@dataclass(frozen=True)
class Leftovers:
    """Process ids, mounts (the last mounted first) and loop devices below a directory."""

    processes: tuple[int, ...] = ()
    mounts: tuple[mounts.Mount, ...] = ()
    loops: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.processes or self.mounts or self.loops)

    def words(self) -> str:
        """In one line."""
        parts = [f"process {process}" for process in self.processes]
        parts += [f"mount {mount.target}" for mount in self.mounts]
        return ", ".join([*parts, *self.loops])


def find(root: Path) -> Leftovers:
    """Everything below a directory that does not go away by removing files."""
    root = Path(os.path.realpath(root))
    table = mounts.parse_mountinfo(Path("/proc/self/mountinfo").read_text(encoding="utf-8"))
    below = [mount for mount in reversed(table) if root in Path(mount.target).parents]
    # The file behind a loop device has no path any more once the daemon that showed it is gone.
    mounted = [mount.source for mount in below if mount.source.startswith("/dev/loop")]
    return Leftovers(tuple(_processes(root)), tuple(below), tuple(dict.fromkeys([*_loops(root), *mounted])))


def remove(root: Path) -> Leftovers:
    """Ends, unmounts and detaches everything below a directory.

    Servers go before the mounts they work on, and the daemons behind mounts last. What cannot be unmounted is detached
    from the tree at least.

    Returns:
        What could not be removed.
    """
    found = find(root)
    if not found:
        return found
    daemons = [process for process in found.processes if _name(process) == "fathomd"]
    _end([process for process in found.processes if process not in daemons])
    for mount in (mount for mount in found.mounts if not mount.kind.startswith("fuse")):
        _unmount(mount)
    for loop in found.loops:
        _call("losetup", "--detach", loop)
    for mount in (mount for mount in found.mounts if mount.kind.startswith("fuse")):
        _unmount(mount)
    _end(daemons)
    deadline = time.monotonic() + _PATIENCE_S
    while (left := find(root)) and time.monotonic() < deadline:
        for mount in left.mounts:
            _call("umount", "--lazy", mount.target)
        time.sleep(0.05)
    return left


def end_in(directory: Path) -> None:
    """Kills every process that runs in a directory or below: children of a server that is gone."""
    directory = Path(os.path.realpath(directory))
    deadline = time.monotonic() + _PATIENCE_S
    while (found := _processes(directory.parent, directory)) and time.monotonic() < deadline:
        _end(found)


def _processes(root: Path, within: Path | None = None) -> list[int]:
    """Processes that run below a directory; with `within` in that directory below it, or below that one."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            where = str((entry / "cwd").readlink()).removesuffix(_DELETED)
        except OSError:
            continue  # it has ended, or is another user's
        path = Path(where)
        if root in path.parents and (within is None or within == path or within in path.parents):
            found.append(int(entry.name))
    return found


def _loops(root: Path) -> list[str]:
    found = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            file = backing.read_text(encoding="utf-8", errors="replace").rstrip("\n").removesuffix(_DELETED)
        except OSError:
            continue
        if root in Path(file).parents:
            found.append(f"/dev/{backing.parts[3]}")
    return found


def _end(processes: list[int]) -> None:
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    deadline = time.monotonic() + _PATIENCE_S
    while any(_runs(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(0.02)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _unmount(mount: mounts.Mount) -> None:
    if _call("umount", mount.target):
        _call("umount", "--lazy", mount.target)


def _call(*command: str) -> int:
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=_PATIENCE_S).returncode
    except (OSError, subprocess.TimeoutExpired):
        return 1
