"""The surroundings of a run: machine, its settings, disk under test, versions. Kept with every run; different ones do
not merge.

Keys whose value changes from moment to moment hold one of the words that `analysis.environment` leaves out (load, free,
available, time, directory); everything else must stay equal over a campaign.
"""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.host import block, machine, mounts, settings

if TYPE_CHECKING:
    from fathom.engine import Engine

_CAPACITY = ("size=", "nr_inodes=", "nr_blocks=")
"""Mount options of file systems in memory that say how much fits, not how they behave."""

_PACKAGES = ("numpy", "polars", "scipy")


_OF_DISK = ("file_system", "mount_options", "source", "allocation_unit_bytes", "total_bytes", "free_bytes", "device")
"""What `disk` tells beside the directory."""


def capture(scratch: Path, engine: Engine, *, anonymous: bool = False) -> dict[str, Any]:
    """Everything worth keeping about where a run happens.

    Args:
        scratch: a directory on the disk under test.
        engine: whose build is recorded.
        anonymous: replace the host name by a hash of it.
    """
    return {
        "machine": machine.facts(anonymous=anonymous),
        "settings": settings.facts(),
        "disk": disk(scratch),
        "versions": {"python": platform.python_version(), **_package_versions()},
        "build": engine.build_facts(),
        "moment": machine.moment(),
    }


def disk(path: Path) -> dict[str, Any]:
    """The file system and the block device under a path; only the path where the system does not describe them."""
    if not mounts.DESCRIBED:
        unknown = (
            "file_system",
            "mount_options",
            "source",
            "allocation_unit_bytes",
            "total_bytes",
            "free_bytes",
            "device",
        )
        return {"directory": str(path), **dict.fromkeys(unknown)}
    system = mounts.file_system(path)
    device = block.device_of(system.mount.device)
    return {
        "directory": str(path),
        "file_system": system.mount.kind,
        "mount_options": ",".join(option for option in system.mount.options if not option.startswith(_CAPACITY)),
        "source": system.mount.source,
        "allocation_unit_bytes": system.allocation_unit,
        "total_bytes": system.total,
        "free_bytes": system.free,
        "device": None if device is None else {**asdict(device), "below": ",".join(device.below) or None},
    }


def fingerprint(environment: dict[str, Any]) -> str:
    """A hash of what must not change within a campaign on the real clock: the machine and the disk under test."""
    under_test = environment["disk"]
    device = under_test["device"] or {}
    kept = {
        "machine": environment["machine"],
        "disk": [under_test["source"], under_test["file_system"], under_test["mount_options"]],
        "device": [device.get("name"), device.get("model"), device.get("size"), device.get("scheduler")],
    }
    return hashlib.blake2b(json.dumps(kept, sort_keys=True).encode(), digest_size=8).hexdigest()


def _package_versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found
