"""What an NFS client's log tells of a mount: who waits in the client, who is on the way, and which server it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Floats
    from fathom.diagnose.evidence.system import System

_SERVER = re.compile(r"[A-Za-z0-9][\w.-]*|\[[0-9a-fA-F:]+\]")
_EXPORT = re.compile(rf"(?:{_SERVER.pattern}):/[\w./-]*")
_POINT = re.compile(r"/[\w./-]*")
"""Names that no shell takes for anything else."""


def in_client(mount: Device) -> Floats:
    """Time of a request until it was sent, s. Before nfs-utils 2.1.2 it is what the round trip leaves of the whole."""
    left = np.maximum(mount.values("latency_s") - mount.values("device_latency_s"), 0.0)
    queue = mount.values("queue_latency_s")
    return np.where(np.isfinite(queue), queue, left)


def at_server(mount: Device) -> Floats:
    """Requests that are sent and not answered, by Little's law."""
    return mount.values("iops") * mount.values("device_latency_s")


def server_of(system: System, mount: Device) -> str:
    """The server's name or address, for a command."""
    name = (system.fact("export", mount.device) or "").rpartition(":/")[0]
    return name.strip("[]") if _SERVER.fullmatch(name) else "SERVER"


def export_of(system: System, mount: Device) -> str:
    """Server and path, for a command."""
    name = system.fact("export", mount.device) or ""
    return name if _EXPORT.fullmatch(name) else "SERVER:/EXPORT"


def point_of(mount: Device) -> str:
    """The mount point, for a command."""
    name = mount.device or ""
    return name if _POINT.fullmatch(name) else "MOUNT_POINT"
