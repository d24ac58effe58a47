"""D8: small writes that do not cover blocks of 4 KiB. A mean size proves nothing: a share of unaligned writes does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.words import number, seen, size
from fathom.diagnose.metrics import Layer
from fathom.diagnose.rule import Kind, Need, Rule
from fathom.finding import Finding, Remedy

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device
    from fathom.diagnose.evidence.harm import Harm
    from fathom.diagnose.evidence.system import System


def examine(system: System) -> Iterator[Finding]:
    """Every device whose log tells the share."""
    for device in system.devices:
        part = device.mean("unaligned_write_percent")
        small = device.mean("write_size_bytes")
        if not part > 20 or small > 65536:
            continue
        harm = of_storage(system, device)
        if device.mean("shifted_write_percent") > part / 2:
            yield _shifted(device, part, harm)
            continue
        yield Finding(
            "D8",
            device.name,
            f"Log writes of {device.name} are not aligned to 4 KiB: the storage reads, changes and writes whole "
            "sectors.",
            harm.severity,
            0.8,
            (
                seen(
                    device,
                    f"{number(part)} % of the writes begin or end between blocks of 4,096 bytes"
                    + (f"; the mean is {size(small)}." if small > 0 else "."),
                ),
            ),
            harm.sentence,
            "the medium has sectors of 512 bytes (fsutil fsinfo sectorinfo)",
            (
                Remedy(
                    "Start SQL Server with trace flag 1800, on every replica, and recreate the log files.",
                    (
                        "fsutil fsinfo sectorinfo D:",
                        "Windows: startup parameter -T1800",
                        "Linux: /opt/mssql/bin/mssql-conf traceflag 1800 on",
                    ),
                    "A restart; the log grows a little faster.",
                    "Write sizes are multiples of 4,096 and write latency falls.",
                ),
            ),
        )


def _shifted(device: Device, part: float, harm: Harm) -> Finding:
    """Whole blocks at the wrong place: not the log's block size is the cause, but where the partition begins."""
    return Finding(
        "D8",
        device.name,
        f"Writes to {device.name} begin between blocks of 4 KiB, as on a partition that is not aligned: the storage "
        "reads, changes and writes whole sectors.",
        harm.severity,
        0.8,
        (
            seen(
                device,
                f"{number(part)} % of the writes begin or end between blocks of 4,096 bytes, although most are as long "
                "as whole blocks.",
            ),
        ),
        harm.sentence,
        "the medium has sectors of 512 bytes, or the layer below shifts the partition back",
        (
            Remedy(
                "Begin the partition at a multiple of 1 MiB: recreate it and restore the data.",
                (
                    "Windows: Get-Partition | Select-Object DiskNumber, PartitionNumber, Offset",
                    "Linux: parted DISK align-check optimal NUMBER",
                ),
                "Recreating a partition destroys what is on it: have a backup whose restore was tested.",
                "Offsets of writes are multiples of 4,096, and write latency falls.",
            ),
        ),
    )


RULE = Rule(
    "D8",
    "unaligned log writes",
    Kind.CAUSE,
    (
        Need(
            (Layer.GUEST_DISK, Layer.VIRTUAL_DISK),
            ("unaligned_write_percent",),
            "a trace (blktrace, WPA, vSCSI): counters cannot tell",
        ),
    ),
    examine,
)
