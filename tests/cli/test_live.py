"""What a person sees while a study is measured: figures of the last interval, on a terminal and in a log."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from fathom.cli import codes
from fathom.cli.progress import Bars, Lines, Pace, observer, variant_words
from fathom.engine import core
from fathom.plan import PlannedRun, plan
from fathom.run import Options, execute
from fathom.study import load, parse
from pipeline.fake import Notes

PYTHON = Path(__file__).parents[2] / "python"

STUDY = """\
title = "A disk"

[volumes.disk]
kind = "model"
size = "64MiB"
servers = 4
read = { latency = "1ms" }

[workload]
kind = "io"
volumes = ["disk"]
size = "8KiB"
outstanding = 8
duration = "10min"

[compare]
metric = "iops"
rounds = 1
"""


FIGURES = r"[\d,]+ IOPS, mean [\d.]+ [mu]s, p99 [\d.]+ [mu]s, [\d.]+ outstanding"
PATIENCE_S = 120
"""How long another process may take on a busy machine."""


def until_seen(wanted: str, place: Path, **more: str) -> str:
    """What `fathom run disk.toml` sent to a terminal of 80 columns until `wanted` was there; then it is interrupted."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    unset = ("COLUMNS", "LINES", "NO_COLOR")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"TERM": "xterm", "PYTHONPATH": str(PYTHON), **more}
    command = [sys.executable, "-m", "fathom", "run", "disk.toml", "--out", "c"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=place, env=environment)
    os.close(theirs)
    seen, asked, deadline = b"", False, time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 1.0)[0]:
            continue
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
        if not asked and re.search(wanted, plain(seen)):
            process.send_signal(signal.SIGINT)
            asked = True
    code = process.wait(PATIENCE_S)
    os.close(ours)
    assert (asked, code) == (True, codes.STOPPED), plain(seen)[-2000:]
    return seen.decode(errors="replace")


def plain(seen: bytes) -> str:
    """What a terminal was sent, without its control sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode(errors="replace"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a study that takes longer than anybody waits."""
    (tmp_path / "disk.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def test_a_terminal_of_80_columns_shows_time_left_and_all_figures(place: Path) -> None:
    seen = until_seen(rf"(left[ \r\n]+){FIGURES}", place)
    assert "\x1b[1m" in seen, "the title is bold"


def test_no_color_leaves_the_figures(place: Path) -> None:
    seen = until_seen(rf"(left[ \r\n]+){FIGURES}", place, NO_COLOR="1")
    assert not re.search(r"\x1b\[(3|4|9|10)\d", seen), "no colour is set"


def test_a_terminal_that_cannot_move_its_cursor_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for term, kind in (("dumb", Lines), ("xterm", Bars)):
        monkeypatch.setenv("TERM", term)
        assert isinstance(observer(), kind)
    assert isinstance(observer(quiet=True), Lines)


def test_a_log_gets_a_plain_line_now_and_then(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "disk.toml"
    path.write_text(STUDY, encoding="utf-8")
    planned = plan(load(path, core(), clock="real", models=()))
    (run,) = planned.runs
    for every_s, lines in ((0.0, 1), (3600.0, 0)):
        watching = Lines(every_s=every_s)
        watching.campaign(planned, 0)
        watching.run_begins(run)
        watching.progress(run, 0.5, "4,000 IOPS, 2 ms, 8 outstanding")
        watching.run_ends(run, 3.0, None)
        told = capfd.readouterr().err
        assert len(re.findall(r"^\[1/1\] 50 %: 4,000 IOPS, 2 ms, 8 outstanding \(\d+ s left\)$", told, re.M)) == lines
        assert "\x1b" not in told


def test_quiet_is_one_line_per_run_however_long_it_takes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "disk.toml"
    path.write_text(STUDY, encoding="utf-8")
    planned = plan(load(path, core(), clock="real", models=()))
    (run,) = planned.runs
    watching = observer(quiet=True)
    watching.campaign(planned, 0)
    watching.run_begins(run)
    now = time.perf_counter()
    monkeypatch.setattr("fathom.cli.progress.time.perf_counter", lambda: now + 3600.0)
    watching.progress(run, 0.5, "4,000 IOPS")
    watching.run_ends(run, 3600.0, None)
    assert len(re.findall(r"^\[1/1\] ", capfd.readouterr().err, re.M)) == 1


def test_a_variant_is_spelled_as_its_study_spells_it() -> None:
    variant = {"volumes.data.rebalance": True, "workload.outstanding": 8, "volumes.log.sector": "4KiB"}
    assert variant_words(variant) == "rebalance = true, outstanding = 8, sector = 4KiB"


def test_what_prepares_a_run_is_no_part_of_its_time_left() -> None:
    pace = Pace(begun=100.0)
    for now in (100.0, 160.0):
        pace.reached(0.0, now)
        assert pace.left(now) == ""
    pace.reached(0.25, 170.0)
    assert (pace.whole(170.0), pace.left(170.0)) == (100.0, "30 s left")


class Words(Notes):
    """Keeps what a run says of itself."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def progress(self, run: PlannedRun, share: float, words: str) -> None:
        self.said.append(words)
        if words.startswith(("loading", "filling")):
            assert share == 0.0, "the time left is that of the run"


HEAD = 'title = "t"\n[compare]\nmetric = "{metric}"\nrounds = 1\n[workload]\n'
IO = 'kind = "io"\nvolumes = ["disk"]\nsize = "8KiB"\noutstanding = 8\ninterval = "100ms"\n'
DISK = '[volumes.disk]\nkind = "model"\nsize = "64MiB"\nservers = 4\nread = { latency = "1ms" }\n'
TPROCC = (
    'kind = "tproc-c"\nwarehouses = 1\nitems = 200\ncustomers = 40\nusers = 2\nramp = "0s"\n'
    'duration = "1s"\ninterval = "100ms"\ndatabase = "db"\n'
)
TRANSACTIONS = r"^[\d,]+ transactions/min(, mean [\d.]+ [mu]s, p99 [\d.]+ [mu]s)?, [\d.]+ outstanding"


@pytest.mark.parametrize(
    ("study", "metric", "clock", "wanted"),
    [
        (f'{IO}duration = "1s"\n{DISK}', "iops", "real", rf"^{FIGURES}$"),
        (f'{IO}ramp = "5s"\nduration = "500s"\n{DISK}', "iops", "virtual", rf"^(ramp, )?{FIGURES}$"),
        (f'{TPROCC}[databases.db]\nkind = "sqlite"\n', "nopm", "real", TRANSACTIONS),
        (f'{TPROCC}[databases.db]\nkind = "postgresql"\n', "nopm", "real", TRANSACTIONS),
        ('kind = "insert"\nrows = 300000\ntransaction = "whole-batch"\n', "rows_per_second", "real",
         r"^[\d,]+ rows, [\d,]+ rows/s$"),
    ],
    ids=["io", "io-virtual", "tproc-c-sqlite", "tproc-c-postgresql", "insert-sqlite"],
)  # fmt: skip
def test_every_workload_says_how_fast_it_is(study: str, metric: str, clock: str, wanted: str, tmp_path: Path) -> None:
    words = Words()
    planned = plan(parse(HEAD.format(metric=metric) + study, Path("study.toml"), core(), clock=clock))
    found = execute(planned, Options(tmp_path / "c"), core(), words)
    assert [run.ok for run in found.runs] == [True], found.runs[0].message
    assert any(re.search(wanted, said) for said in words.said), words.said[-20:]
