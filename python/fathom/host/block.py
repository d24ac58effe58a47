"""Block devices as the kernel describes them in /sys: geometry, queue, write cache, and the devices below them.

Needs no root and no tool. A partition is described by its disk; device-mapper and md devices name the disks below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from fathom.host.machine import read

SYS = Path("/sys")


@dataclass(frozen=True)
class BlockDevice:
    """One block device; sizes in bytes. None is "the kernel does not say".

    Attributes:
        name: kernel name of the whole device ("nvme0n1"); `partition` the partition's name where the path is on one.
        partition_offset: where the partition starts, in bytes from the start of the device.
        write_cache: "write back" (volatile: a flush is needed) or "write through".
        queue_depth: commands that the device itself takes, where its driver says so; `requests` what the kernel's queue
            holds.
        below: kernel names of the devices below it (device-mapper, md).
    """

    name: str
    partition: str | None
    partition_offset: int | None
    size: int | None
    logical_sector: int | None
    physical_sector: int | None
    minimum_io: int | None
    optimal_io: int | None
    max_transfer: int | None
    discard_granularity: int | None
    requests: int | None
    queue_depth: int | None
    scheduler: str | None
    write_cache: str | None
    fua: bool | None
    rotational: bool | None
    model: str | None
    driver: str | None
    below: tuple[str, ...] = field(default=())


def device_of(number: str, sys: Path = SYS) -> BlockDevice | None:
    """The device with a number "major:minor"; None for none (tmpfs, overlay, network file systems).

    Args:
        number: as in mountinfo.
        sys: where sysfs is mounted; another place in tests.
    """
    node = sys / "dev" / "block" / number
    if not node.exists():
        return None
    place = node.resolve()
    partition = place.name if (place / "partition").exists() else None
    disk = place.parent if partition else place
    start = _number(place / "start")
    return BlockDevice(
        name=disk.name,
        partition=partition,
        partition_offset=None if start is None or not partition else start * 512,
        size=_scaled(_number(disk / "size"), 512),
        logical_sector=_number(disk / "queue/logical_block_size"),
        physical_sector=_number(disk / "queue/physical_block_size"),
        minimum_io=_number(disk / "queue/minimum_io_size"),
        optimal_io=_number(disk / "queue/optimal_io_size") or None,
        max_transfer=_scaled(_number(disk / "queue/max_sectors_kb"), 1024),
        discard_granularity=_number(disk / "queue/discard_granularity") or None,
        requests=_number(disk / "queue/nr_requests"),
        queue_depth=_number(disk / "device/queue_depth"),
        scheduler=_chosen(read(disk / "queue/scheduler")),
        write_cache=read(disk / "queue/write_cache"),
        fua=_flag(disk / "queue/fua"),
        rotational=_flag(disk / "queue/rotational"),
        model=read(disk / "device/model") or read(disk / "device/device/model"),
        driver=_driver(disk),
        below=_below(disk),
    )


def _number(path: Path) -> int | None:
    text = read(path)
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


def _scaled(value: int | None, unit: int) -> int | None:
    return None if value is None else value * unit


def _flag(path: Path) -> bool | None:
    number = _number(path)
    return None if number is None else number != 0


def _chosen(schedulers: str | None) -> str | None:
    """The one in brackets of "mq-deadline [none]"."""
    if schedulers is None:
        return None
    return next((word.strip("[]") for word in schedulers.split() if word.startswith("[")), schedulers)


def _driver(disk: Path) -> str | None:
    link = disk / "device" / "driver"
    return link.resolve().name if link.exists() else None


def _below(disk: Path) -> tuple[str, ...]:
    slaves = disk / "slaves"
    return tuple(sorted(entry.name for entry in slaves.iterdir())) if slaves.is_dir() else ()
