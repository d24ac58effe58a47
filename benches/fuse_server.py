"""What a request over FUSE costs fathomd: CPU time per request by reading /dev/fuse and by io_uring; fio is the client.

A memory volume, so that what is measured is the way there and back. fio is pinned to one CPU; the daemon to another, or
to the same: who wakes the other up, and how often, is a large part of a request, and over io_uring the kernel hands a
request over on the CPU it came from. Both ways take turns. FUSE over io_uring needs the kernel's switch, which is
turned on for it and put back.

    benches/fuse_server.py --fathomd target/release/fathomd [--seconds 5] [--rounds 3] [--json FILE]

Needs root and fio. Ends with code 1 if a bar is missed: 3.5 us per 8 KiB read at depth 16 by reading, 2 us by io_uring,
in both places.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from common import Table, cpu_seconds, ways_to_fuse

from fathom.host import fathomd, leftovers

BARS_US = {"read": 3.5, "io_uring": 2.0}
LOADS = [("randread", 1), ("randread", 16), ("randread", 64), ("randwrite", 16)]
PLACES = ("apart", "together")
SIZE_MIB = 256


def fio(file: Path, pattern: str, depth: int, seconds: float) -> float:
    """Requests per second of 8 KiB."""
    command = [
        "fio", "--name=fuse", "--thread", f"--filename={file}", f"--rw={pattern}", "--bs=8k", "--direct=1",
        "--ioengine=io_uring", f"--iodepth={depth}", f"--runtime={seconds}", "--time_based", f"--size={SIZE_MIB}m",
        "--output-format=json",
    ]  # fmt: skip
    pinned = ["taskset", "-c", str(max(os.sched_getaffinity(0))), *command]
    done = subprocess.run(pinned, capture_output=True, text=True, check=True)
    job = json.loads(done.stdout)["jobs"][0]
    return float(job["read"]["iops"] + job["write"]["iops"])


def measure(way: str, seconds: float) -> Iterator[dict[str, object]]:
    """One daemon under every load."""
    home = Path(tempfile.mkdtemp(prefix="fathom-bench-"))
    settings = home / "fathomd.toml"
    settings.write_text(
        f'[daemon]\nsocket = "{home}/nbd.sock"\nstatus = "{home}/status.sock"\n'
        f'[fuse]\nmount = "{home}/files"\nio_uring = {str(way == "io_uring").lower()}\n'
        f'[volumes.disk]\nkind = "memory"\nsize = "{SIZE_MIB}MiB"\n[exports.disk]\nvolume = "disk"\n',
        encoding="utf-8",
    )
    try:
        with fathomd.Serving.start(settings, home / "log") as daemon:
            told = fathomd.ask(home / "status.sock", "GET", "/status")["fuse"]["by"]
            if told != way:
                raise SystemExit(f"error: this kernel gives FUSE by {told}, not by {way}")
            with (home / "files" / "disk").open("r+b") as file:
                for _ in range(SIZE_MIB):
                    file.write(bytes(1 << 20))
            for place, (pattern, depth) in itertools.product(PLACES, LOADS):
                cpus = os.sched_getaffinity(0)
                os.sched_setaffinity(daemon.pid, {max(cpus) if place == "together" else min(cpus)})
                before = cpu_seconds(daemon.pid)
                iops = fio(home / "files" / "disk", pattern, depth, seconds)
                cost = (cpu_seconds(daemon.pid) - before) * 1e6 / (iops * seconds)
                load = {"way": way, "place": place, "pattern": pattern, "depth": depth}
                yield {**load, "iops": iops, "cpu_us": cost}
    finally:
        leftovers.remove(home)
        shutil.rmtree(home, ignore_errors=True)


def main() -> int:
    """Measures, prints a table in Markdown; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fathomd", default="target/release/fathomd")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("error: mounting needs root", file=sys.stderr)
        return 2
    os.environ["FATHOMD"] = str(Path(arguments.fathomd).resolve())
    samples: list[dict[str, object]] = []
    with ways_to_fuse() as ways:
        table = Table("load", "way", "daemon and client", "CPU us per request", "requests per s", "to reach", "met")
        for _ in range(arguments.rounds):
            for way in ways:
                samples += measure(way, arguments.seconds)
    for (pattern, depth), way, place in itertools.product(LOADS, ways, PLACES):
        load = (way, place, pattern, depth)
        chosen = [s for s in samples if (s["way"], s["place"], s["pattern"], s["depth"]) == load]
        cost, iops = (statistics.median(float(str(s[name])) for s in chosen) for name in ("cpu_us", "iops"))
        cells = f"{pattern}, depth {depth}", way, place, f"{cost:.2f}", f"{iops:,.0f}"
        if (pattern, depth) == ("randread", 16):
            table.row(*cells, bar=f"at most {BARS_US[way]:g} us", met=cost <= BARS_US[way])
        else:
            table.row(*cells)
    return table.finish(samples, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
