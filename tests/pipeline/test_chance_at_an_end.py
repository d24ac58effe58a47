"""Two equal volumes of one model: no end of what it assumes turns their verdict, though one run there seems to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

STUDY = """
title = "A against A"
clock = "virtual"
seed  = 1

[volumes.a]
kind  = "model"
model = "aws/gp3"
size  = "100GiB"

[volumes.b]
kind  = "model"
model = "aws/gp3"
size  = "100GiB"

[workload]
kind        = "io"
volumes     = ["a"]
read        = "70%"
size        = "8KiB"
outstanding = 2
duration    = "5s"

[factors]
vol = ["a", "b"]

[sets.vol]
a = { "workload.volumes" = ["a"] }
b = { "workload.volumes" = ["b"] }

[compare]
metric   = "latency_ms"
baseline = { vol = "a" }
rounds   = 5
"""


def test_an_end_that_seems_to_turn_the_verdict_is_tried_in_more_rounds(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    command = [sys.executable, "-m", "fathom", "simulate", "study.toml", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    tried = [
        json.loads((run / "run.json").read_text())["assumed"][1] for run in (tmp_path / "out" / "sensitivity").iterdir()
    ]
    # One round of both variants at each end, and four more at the one whose ratio is beyond the margin by chance.
    assert (tried.count("low"), tried.count("high")) == (2, 10)
    assert "equivalent within 2 %" in done.stdout
    assert "the verdict stays" in done.stdout
    assert "turns" not in done.stdout
    again = subprocess.run(
        [*command, "--resume"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert again.returncode == 0, again.stderr
    assert len(list((tmp_path / "out" / "sensitivity").iterdir())) == len(tried)
