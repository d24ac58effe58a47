"""How long `fathom report` takes for 36 real runs of twelve variants, with samples: CPU time and time on the wall.

The campaign is measured first, on volumes that are models on the clock on the wall (about three minutes); --campaign
takes one that is there. The bar is 2 s on the wall of an otherwise idle machine, and 1 MB for the page.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import Table

RUNS, BAR_S, BAR_BYTES = 36, 2.0, 1_000_000

STUDY = """\
title = "Twelve variants of a cache by the clock on the wall"

[volumes.drive]
kind = "model"
size = "1GiB"
servers = 64
read = { latency = "800us" }

[volumes.volume]
kind = "throttle"
backing = "drive"
iops = 3000

[volumes.nvme]
kind = "model"
size = "256MiB"
servers = 16
read = { latency = "80us" }

[volumes.cached]
kind = "writeback"
backing = "volume"
cache = "nvme"
size = "192MiB"
dirty_limit = "24MiB"

[workload]
kind = "io"
volumes = ["volume"]
read = "70%"
size = "8KiB"
length = "128MiB"
ramp = "500ms"
duration = "4s"

[factors]
cache = ["none", "24 MiB", "96 MiB"]
"workload.outstanding" = [1, 4, 16, 64]

[sets.cache]
"none" = { "workload.volumes" = ["volume"] }
"24 MiB" = { "workload.volumes" = ["cached"], "volumes.cached.dirty_limit" = "24MiB" }
"96 MiB" = { "workload.volumes" = ["cached"], "volumes.cached.dirty_limit" = "96MiB" }

[compare]
metric = "iops"
baseline = { cache = "none" }
rounds = 3
"""


def fathom(*arguments: object) -> tuple[float, float]:
    """Runs `fathom ARGUMENTS...` and gives its CPU time and its time on the wall in seconds.

    Compiled modules are kept from one call to the next, as they are by default.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "fathom", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in {0, 3}:
        raise SystemExit(done.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaign", type=Path, help="a finished campaign of 36 runs; measured if not given")
    parser.add_argument("--repeat", type=int, default=7, help="how many reports (7)")
    parser.add_argument("--json", type=Path, help="where the samples go")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        campaign = arguments.campaign or Path(place) / "campaign"
        if arguments.campaign is None:
            study = Path(place) / "study.toml"
            study.write_text(STUDY, encoding="utf-8")
            fathom("run", study, "--out", campaign, "--quiet")
        runs = len([run for run in (campaign / "runs").iterdir() if not run.name.startswith(".")])
        if runs != RUNS:
            parser.error(f"{campaign} holds {runs} runs, not {RUNS}")
        page = Path(place) / "report.html"
        fathom("report", campaign, "--html", page)  # the first one compiles modules and warms the cache of files
        samples = [fathom("report", campaign, "--html", page) for _ in range(arguments.repeat)]
        cpu, wall = (statistics.median(column) for column in zip(*samples, strict=True))
        weight = page.stat().st_size
    table = Table("figure", "median", "to reach", "reached")
    table.row("CPU time", f"{cpu:.2f} s")
    table.row("time on the wall", f"{wall:.2f} s", bar=f"at most {BAR_S:g} s", met=wall <= BAR_S)
    table.row("page", f"{weight / 1e3:,.0f} kB", bar=f"at most {BAR_BYTES // 1000:,} kB", met=weight <= BAR_BYTES)
    rows: list[dict[str, object]] = [{"cpu_s": cpu, "wall_s": wall} for cpu, wall in samples]
    return table.finish(rows, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
