"""Whole campaigns over real servers: results, samples, report sections; failures are failed runs with a reason."""

from __future__ import annotations

import os
import signal
import tomllib
from pathlib import Path
from typing import Any

import pytest

from fathom import results
from fathom.analysis.analyse import analyse
from fathom.engine import core
from fathom.host import leftovers
from fathom.plan import PlannedRun, plan
from fathom.report.context import Context
from fathom.report.section import build_sections
from fathom.run import Options, execute
from fathom.study import parse
from pipeline.fake import Notes

HEAD = """\
title = "t"
question = "q"
[workload]
kind = "insert"
rows = 300
interval = "100ms"
[compare]
metric = "rows_per_second"
baseline = {}
rounds = 1
"""

LONG = "10min"


class Killer(Notes):
    """Kills a server of the run that would last for minutes, once it is under way; the one whose command has `its`."""

    def __init__(self, directory: Path, its: str = "") -> None:
        super().__init__()
        self.directory, self.its = directory, its
        self.due = False

    def run_begins(self, run: PlannedRun) -> None:
        super().run_begins(run)
        self.due = run.variant["workload.duration"] == LONG

    def progress(self, run: PlannedRun, share: float, words: str) -> None:
        if self.due and share > 0:
            self.due = False
            kill_server(self.directory, self.its)


def campaign(text: str, directory: Path, notes: Any = None, head: str = HEAD) -> results.Campaign:
    """A study carried out."""
    study = parse(head + text, Path("study.toml"), core())
    return execute(plan(study), Options(directory), core(), notes or Notes())


def test_every_database_runs_is_observed_and_reported(tmp_path: Path) -> None:
    text = '[factors]\n"workload.database" = ["postgresql", "mariadb", "sqlite"]\n'
    # Looks ten times a second see a server at work, sooner or later.
    for attempt in range(5):
        found = campaign(text, tmp_path / f"c{attempt}", head=HEAD.replace("rows = 300", 'duration = "2s"'))
        if all(run.waits for run in found.runs if run.variant["workload.database"] != "sqlite"):
            break
    assert [(run.status, run.message) for run in found.runs] == [("ok", None)] * 3
    for run in found.runs:
        assert (run.metrics["rows"] or 0) > 0
        activity = run.activity()
        assert activity is not None
        assert (run.metrics["driver_cpus"] or 0) > 0
        if run.variant["workload.database"] != "sqlite":
            assert (run.metrics["log_mb_per_s"] or 0) > 0, run.variant
            assert (run.metrics["server_cpus"] or 0) > 0, run.variant
            assert run.waits
    context = Context(analyse(found), found)
    built = {section.name: section for section in build_sections(context)}
    assert {block.name for block in built["host_activity"].blocks} >= {"host"}
    assert {block.name for block in built["database_activity"].blocks} >= {"database", "waits"}
    for name in ("host_activity", "database_activity"):
        for block in built[name].blocks:
            if block.kind == "chart":
                assert block.draw() is not None
    assert not leftovers.find(tmp_path)


def kill_server(directory: Path, its: str = "") -> None:
    """Ends the server of a run (the one whose command has `its`) as the kernel would if memory ran out."""
    servers = [process for process in leftovers.find(directory).processes if _is_ours(process)]
    servers = [server for server in servers if its in Path(f"/proc/{server}/cmdline").read_text()]
    assert servers
    for server in servers:
        os.kill(server, signal.SIGKILL)


def _is_ours(process: int) -> bool:
    """Whether this process started it: the server itself, not one of its children, which come and go."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return int(stat.rpartition(")")[2].split()[1]) == os.getpid()


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_server_killed_in_mid_run_is_a_lost_run_and_the_campaign_goes_on(tmp_path: Path, kind: str) -> None:
    head = HEAD.replace("rows = 300", f'database = "{kind}"')
    text = f'[factors]\n"workload.duration" = ["{LONG}", "1s"]\n'
    found = campaign(text, tmp_path / "c", Killer(tmp_path), head)
    killed, other = sorted(found.runs, key=lambda run: run.variant["workload.duration"] != LONG)
    assert (killed.status, killed.reason) == ("failed", "lost"), killed.message
    assert f"databases.{kind} is gone" in (killed.message or "")
    assert (other.status, other.message) == ("ok", None)
    assert not leftovers.find(tmp_path)


def test_a_study_s_databases_are_in_its_plan() -> None:
    text = HEAD + '[databases.db]\nkind = "postgresql"\n[factors]\n"databases.db.cpus" = [1, 2]\n'
    text = text.replace("rows = 300", 'rows = 300\ndatabase = "db"')
    made = plan(parse(text, Path("study.toml"), core()))
    other = plan(parse(text.replace('"postgresql"', '"mariadb"'), Path("study.toml"), core()))
    assert {run.id for run in made.runs}.isdisjoint({run.id for run in other.runs})
    assert tomllib.loads(text)["databases"]
