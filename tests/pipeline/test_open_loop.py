"""An open loop that a write-back cache can sustain: nobody is held back for a pace that destaging chose itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

STUDY = """
title = "gp3 behind a cache"
clock = "virtual"
seed  = 7

[volumes.gp3]
kind  = "model"
model = "aws/gp3"
size  = "200GiB"

[volumes.nvme]
kind  = "model"
model = "aws/r5d.2xlarge/nvme"

[volumes.cached]
kind    = "writeback"
backing = "gp3"
cache   = "nvme"

[workload]
kind     = "io"
volumes  = ["cached"]
size     = "8KiB"
read     = "30%"
offsets  = "zipf"
rate     = 4000
duration = "30s"

[factors]
"volumes.cached.size" = ["2GiB", "8GiB", "30GiB"]
"""


def test_a_large_cache_is_no_slower_than_a_small_one(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    command = [sys.executable, "-m", "fathom", "simulate", "study.toml", "--rounds", "2", "-q", "--out", "out"]
    done = subprocess.run(
        [*command, "--no-sensitivity"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode in (0, 3), done.stderr
    slowest: dict[str, float] = {}
    for run in sorted((tmp_path / "out" / "runs").iterdir()):
        size = json.loads((run / "run.json").read_text())["variant"]["volumes.cached.size"]
        metrics = json.loads((run / "metrics.json").read_text())
        slowest[size] = max(slowest.get(size, 0.0), metrics["write_latency_p99_ms"])
    # With 8 and 30 GiB 100 ms: the first batch's own pace was taken for what the volume can do.
    assert set(slowest) == {"2GiB", "8GiB", "30GiB"}
    assert max(slowest.values()) < 5, slowest
