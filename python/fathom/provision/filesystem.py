"""A file system on a block device: made with the stated allocation unit, mounted with the stated options."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fathom.provision.failure import ProvisionError
from fathom.provision.host import Host
from fathom.provision.requirements import Place

_TRIES = 40
"""A process that has just ended may keep its files for a moment."""


@contextmanager
def mounted(host: Host, place: Place, device: str, target: Path) -> Iterator[Path]:
    """The mount point of a fresh file system; unmounted at the end.

    Raises:
        ProvisionError: it cannot be made, or this kernel cannot mount it (an allocation unit above its page size).
    """
    host.run(make_command(host, place, device))
    host.directory(target)
    options = ["-o", place.mount_options] if place.mount_options else []
    try:
        host.run([host.program("mount"), "-t", place.filesystem, *options, device, str(target)])
    except ProvisionError as problem:
        unit = f" with blocks of {place.block_bytes // 1024} KiB" if place.block_bytes else ""
        message = f"places.{place.name}: this kernel ({os.uname().release}) does not mount {place.filesystem}{unit}"
        raise ProvisionError(problem.reason, f"{message}: {problem.message}") from None
    try:
        yield target
    finally:
        _unmount(host, target)


def make_command(host: Host, place: Place, device: str) -> list[str]:
    """The command of mkfs, with the allocation unit in the tool's own words."""
    size = place.block_bytes
    # Nothing is discarded: a volume of a run is fresh, and on a slow one it would take minutes.
    if place.filesystem == "ext4":
        # Tables are written now, not by the kernel during the measurement.
        unit = ["-b", str(size)] if size else []
        return [
            host.program("mkfs.ext4"),
            "-q",
            "-F",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0,nodiscard",
            *unit,
            device,
        ]
    if place.filesystem == "xfs":
        return [host.program("mkfs.xfs"), "-q", "-f", "-K", *(["-b", f"size={size}"] if size else []), device]
    # A tree node of btrfs cannot be smaller than its sector.
    unit = ["--sectorsize", str(size), "--nodesize", str(max(size, 16384))] if size else []
    return [host.program("mkfs.btrfs"), "-q", "-f", "-K", *unit, device]


def _unmount(host: Host, target: Path) -> None:
    command = [host.program("umount"), str(target)]
    for _ in range(_TRIES - 1):
        try:
            host.run(command)
        except ProvisionError:
            time.sleep(0.05)
        else:
            return
    host.run(command)
