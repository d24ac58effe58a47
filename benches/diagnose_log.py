"""What `fathom diagnose` costs on wide logs: CPU time and peak memory, in turn with `polars.read_csv` of the same file.

The log is made first, in --folder: perfmon counters of disks, or columns of esxtop, a tenth of them of devices. The bar
is twice the time of polars for 1 GB of perfmon with 5,000 columns; esxtop with 50,000 columns must work.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

from common import Table

SEED, DISTINCT = 1, 64
BAR = 2.0
_PERFMON = (
    "Disk Reads/sec",
    "Disk Writes/sec",
    "Avg. Disk sec/Read",
    "Avg. Disk sec/Write",
    "Current Disk Queue Length",
)
_DEVICE = ("Commands/sec", "Active Commands", "Queued Commands", "Average Driver MilliSec/Command",
           "Average Kernel MilliSec/Command")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=("perfmon", "esxtop"), default="perfmon")
    parser.add_argument("--columns", type=int, default=5000)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where the log is made")
    chosen = parser.parse_args()
    read = "import polars; polars.read_csv({path!r}, encoding='utf8-lossy', infer_schema_length=10)"
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        path = Path(folder) / "log.csv"
        rows = make(path, chosen.kind, chosen.columns, chosen.megabytes * 10**6)
        print(f"{path.stat().st_size / 1e6:,.0f} MB, {chosen.columns:,} columns, {rows:,} rows")
        table = Table("round", "polars CPU s", "diagnose CPU s", "ratio", "wall s", "peak MiB", "bar", "met")
        for number in range(chosen.rounds):
            peer, _, _ = cost([sys.executable, "-c", read.format(path=str(path))])
            mine, wall, peak = cost([sys.executable, "-m", "fathom", "diagnose", str(path), "--json"])
            figures = f"{peer:.1f}", f"{mine:.1f}", f"{mine / peer:.2f}", f"{wall:.1f}", f"{peak:.0f}"
            table.row(str(number + 1), *figures, bar=f"ratio {BAR:.1f}", met=mine / peer <= BAR)
        return table.finish([], None, judge=chosen.kind == "perfmon")


def cost(command: list[str]) -> tuple[float, float, float]:
    """Seconds of CPU (user and system), seconds on the wall, MiB of resident memory at its highest."""
    begun = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) not in {0, 5, 6, 7}:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, time.monotonic() - begun, used.ru_maxrss / 1024


def make(path: Path, kind: str, columns: int, size: int) -> int:
    """Writes the log and returns its rows: a few different lines of numbers, each with the next stamp before it."""
    names = perfmon(columns) if kind == "perfmon" else esxtop(columns)
    source = random.Random(SEED)
    lines = [b"".join(b',"%s"' % cell(name, source).encode() for name in names) for _ in range(DISTINCT)]
    moment, rows = datetime(2026, 3, 2), 0
    with path.open("wb") as file:
        file.write(('"(PDH-CSV 4.0) (UTC)(0)"' + "".join(f',"{name}"' for name in names) + "\r\n").encode())
        while file.tell() < size:
            stamp = f'"{moment:%m/%d/%Y %H:%M:%S}.000"'
            file.write(stamp.encode() + lines[rows % DISTINCT] + b"\r\n")
            moment += timedelta(seconds=15)
            rows += 1
    return rows


def cell(name: str, source: random.Random) -> str:
    """A number as its program writes it: rates and means of Windows have up to 17 digits, queue lengths are whole."""
    value = source.random() * 100
    if name.endswith("Queue Length"):
        return f"{value:.0f}"
    return f"{value:.17g}" if "PhysicalDisk" in name else f"{value:.2f}"


def perfmon(columns: int) -> list[str]:
    """Counters of disks only, the dearest case."""
    return [rf"\\SQL01\PhysicalDisk({n // len(_PERFMON)} D:)\{_PERFMON[n % len(_PERFMON)]}" for n in range(columns)]


def esxtop(columns: int) -> list[str]:
    """Worlds, processors and paths, and a tenth of devices."""
    wanted, disk = columns // 10, r"\\esx1\Physical Disk SCSI Device"
    devices = [rf"{disk}(naa.{n // len(_DEVICE):032x})\{_DEVICE[n % len(_DEVICE)]}" for n in range(wanted)]
    return [*(rf"\\esx1\Group Cpu({n}:vm-{n})\% Used" for n in range(columns - wanted)), *devices]


if __name__ == "__main__":
    sys.exit(main())
