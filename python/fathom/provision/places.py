"""Facts about places once they exist: file system, allocation unit, sectors; kept with the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fathom.host import block, mounts


def facts(found: Mapping[str, Path]) -> dict[str, str]:
    """Facts of every place, as `places.NAME.WORD`."""
    told: dict[str, str] = {}
    for name, path in found.items():
        system = mounts.file_system(path)
        device = block.device_of(system.mount.device)
        words = {
            "file_system": system.mount.kind,
            "mount_options": ",".join(system.mount.options),
            "allocation_unit_bytes": str(system.allocation_unit),
            "logical_sector_bytes": None if device is None else str(device.logical_sector),
            "physical_sector_bytes": None if device is None else str(device.physical_sector),
        }
        told.update({f"places.{name}.{word}": value for word, value in words.items() if value is not None})
    return told
