"""What is under a path, as far as the kernel shows it without root: file system and block device."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from fathom.errors import UsageError
from fathom.host import block, mounts


@dataclass(frozen=True)
class Storage:
    """A directory, its file system, and the block device below; None for a file system without one."""

    directory: Path
    system: mounts.FileSystem
    device: block.BlockDevice | None

    def rows(self) -> list[tuple[str, str]]:
        """Label and value for people; what the kernel does not report is left out."""
        system, device = self.system, self.device
        rows: list[tuple[str, str | None]] = [
            ("path", str(self.directory)),
            ("file system", f"{system.mount.kind} on {system.mount.source}, mounted at {system.mount.target}"),
            ("mount options", ",".join(system.mount.options)),
            ("allocation unit", size_words(system.allocation_unit)),
            ("free", f"{size_words(system.free)} of {size_words(system.total)}"),
        ]
        if device is None:
            return [(label, value) for label, value in rows if value is not None]
        sectors = (device.logical_sector, device.physical_sector)
        rows += [
            (
                "device",
                " ".join(filter(None, (device.name, device.model, f"({device.driver})" if device.driver else ""))),
            ),
            ("devices below", ", ".join(device.below) or None),
            ("size", _size(device.size)),
            ("sectors", None if None in sectors else f"{sectors[0]} B logical, {sectors[1]} B physical"),
            ("partition offset", _size(device.partition_offset)),
            ("largest transfer", _size(device.max_transfer)),
            ("scheduler", device.scheduler),
            ("queue", _queue(device)),
            ("write cache", _cache(device)),
            ("rotating", None if device.rotational is None else ("yes" if device.rotational else "no")),
        ]
        return [(label, value) for label, value in rows if value is not None]


def look(path: Path) -> Storage:
    """What is under a directory.

    Raises:
        UsageError: it does not exist, is none, or cannot be looked at.
    """
    try:
        directory = path.resolve(strict=True)
        if not directory.is_dir():
            raise UsageError(
                f"{path}: not a directory, and a scratch file needs one",
                f"`fathom probe {shlex.quote(str(directory.parent))}` probes the disk that it is on",
            )
        system = mounts.file_system(directory)
    except OSError as problem:
        raise UsageError(
            f"{path}: cannot look at it: {problem.strerror}", "give a directory on the disk to be probed"
        ) from None
    return Storage(directory, system, block.device_of(system.mount.device))


def size_words(count: int) -> str:
    """Bytes in the largest binary unit that leaves a number of at most four digits: 4 KiB, 953 GiB, 512 B."""
    for shift, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << shift:
            value = count / (1 << shift)
            return f"{value:.0f} {unit}" if value >= 100 or value == int(value) else f"{value:.1f} {unit}"
    return f"{count} B"


def _size(count: int | None) -> str | None:
    return None if count is None else size_words(count)


def _queue(device: block.BlockDevice) -> str | None:
    parts = []
    if device.queue_depth is not None:
        parts.append(f"device takes {device.queue_depth}")
    if device.requests is not None:
        parts.append(f"kernel holds {device.requests}")
    return ", ".join(parts) or None


def _cache(device: block.BlockDevice) -> str | None:
    if device.write_cache is None:
        return None
    meaning = {
        "write back": "volatile: only a flush makes writes durable",
        "write through": "a completed write is durable",
    }
    return f"{device.write_cache} ({meaning.get(device.write_cache, 'meaning unknown')})"
