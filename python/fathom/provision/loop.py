"""A loop device on a file: gives a volume's file a block device with a sector size of its choice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fathom.provision.host import Host


@contextmanager
def attached(host: Host, file: Path, sector: int, name: str) -> Iterator[str]:
    """The device; detached at the end.

    `--direct-io`: requests go to the file as they come, without a second page cache above the volume.

    Raises:
        ProvisionError: no loop device is available.
    """
    program = host.program("losetup")
    command = [program, "--find", "--show", "--direct-io=on", "--sector-size", str(sector), str(file)]
    device = host.run(command, dry=f"/dev/loop-{name}")
    try:
        yield device
    finally:
        host.run([program, "--detach", device])
