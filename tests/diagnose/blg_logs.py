"""Two small performance logs of Windows, one per mode; run with a folder, it writes what fuzzing begins with there."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from diagnose import blg_writer as blg

START = datetime(2026, 8, 14, 15, 40, 38)
UTC = timedelta(minutes=240)
NAMES = {234: "PhysicalDisk", 208: "Avg. Disk sec/Read", 214: "Disk Reads/sec", 198: "Current Disk Queue Length"}
DISK = ((198, blg.GAUGE), (208, blg.MEAN_TIME), (208, blg.MEAN_BASE), (214, blg.RATE))


def objects_log(names: dict[int, str] = NAMES, samples: int = 4, wide: bool = True, buffer: int = blg.BUFFER) -> bytes:
    """Two disks: C: reads 10 a second at 5 ms and has 3 requests outstanding, D: does nothing."""
    writer = blg.Writer(bias=300, saving=60, wide=wide, buffer=buffer)
    writer.names(names)
    writer.list_objects(["PhysicalDisk"])
    for number in range(samples):
        reads = 150 * number
        block = blg.object_block(
            234, DISK, {"0 C:": (3, 750_000_0 * number, reads, reads), "1 D:": (0, 0, 0, 0), "1 D:#x": (1, 0, 0, 0)}
        )
        local = START + timedelta(seconds=15 * number)
        writer.object_sample(local, local + UTC, [block])
    return writer.finish()


def counters_log(
    samples: int = 3, start: datetime = START, step: timedelta = timedelta(seconds=1), buffer: int = blg.BUFFER
) -> bytes:
    """Chosen counters: bytes per read, a queue length (100 ns clock), processors."""
    writer = blg.Writer(bias=300, saving=60, buffer=buffer)
    writer.list_counters(
        [
            blg.Counter("PhysicalDisk", "0 C:", "Avg. Disk Bytes/Read", blg.MEAN_SIZE),
            blg.Counter("PhysicalDisk", "0 C:", "Disk Reads/sec", blg.RATE),
            blg.Counter("Processor", "*", "Interrupts/sec", blg.RATE),
        ]
    )
    for number in range(samples):
        ticks = number * int(step.total_seconds()) * blg.FREQUENCY
        rows = {"0": (50 * number, ticks), "_Total": (80 * number, ticks)}
        writer.sample(start + number * step, [(8192 * 30 * number, 30 * number), (30 * number, ticks), rows])
    return writer.finish()


def main() -> None:
    """Both modes, for 64 and for 32 bits, in the smallest buffers: mutations of short inputs go deep."""
    folder = Path(sys.argv[1])
    for name, content in (
        ("objects", objects_log(samples=2, buffer=1 << 10)),
        ("objects-32", objects_log(samples=2, wide=False, buffer=1 << 10)),
        ("counters", counters_log(samples=3, buffer=1 << 10)),
    ):
        (folder / f"{name}.blg").write_bytes(content)


if __name__ == "__main__":
    main()
