"""What a run cannot have makes it a failed run with its reason; the host is left as it was."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fathom import results
from fathom.engine import core
from fathom.errors import UsageError
from fathom.host import leftovers
from fathom.plan import PlannedRun, plan
from fathom.provision.host import Host
from fathom.provision.provide import provided
from fathom.provision.server import Server
from fathom.run import Options, execute
from fathom.study import parse
from pipeline.fake import Notes
from provision.conftest import needs_root, wants
from provision.test_runs import HEAD, LONG, campaign

END = '[compare]\nmetric = "{metric}"\nbaseline = {{}}\nrounds = 1\n'
USERS = 'users = 2\nramp = "0s"\ninterval = "100ms"\n'
WORKLOADS = {
    "insert": HEAD.replace("rows = 300\n", ""),
    "tproc-c": 'title = "t"\n[workload]\nkind = "tproc-c"\nwarehouses = 1\nitems = 200\ncustomers = 40\n'
    + USERS
    + END.format(metric="nopm"),
}
"""Workloads at tiny scale, without their durations."""


def failed(text: str, directory: Path, workload: str = 'database = "db"') -> results.Run:
    """The one run of a study that cannot have what it needs."""
    study = parse(HEAD.replace("rows = 300", f"rows = 300\n{workload}") + text, Path("study.toml"), core())
    found = execute(plan(study), Options(directory), core(), Notes())
    assert len(found.runs) == 1
    assert found.runs[0].status == "failed"
    return found.runs[0]


@pytest.mark.parametrize("kind", ["postgresql", "mariadb", "sqlserver"])
def test_nobody_listens(tmp_path: Path, kind: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    connect = f'{{ host = "127.0.0.1", port = {port}, user = "u", database = "d" }}'
    run = failed(f'[databases.db]\nkind = "{kind}"\nconnect = {connect}\n', tmp_path / "c")
    assert run.reason == "unavailable", run.message
    assert re.search(r"refused", run.message or "", re.I)


@pytest.mark.parametrize(
    ("kind", "listens"),
    [
        ("postgresql", 'listen_addresses = "127.0.0.1"'),
        ("mariadb", 'skip_networking = false, bind_address = "127.0.0.1"'),
    ],
    ids=["postgresql", "mariadb"],
)
def test_a_port_that_is_taken(tmp_path: Path, kind: str, listens: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = f"{{ {listens}, port = {port} }}"
        run = failed(f'[databases.db]\nkind = "{kind}"\nsettings = {settings}\n', tmp_path / "c")
    assert run.reason == "unavailable", run.message
    assert "in use" in (run.message or "")
    assert not leftovers.find(tmp_path)


def test_a_volume_without_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    text = '[volumes.v]\nkind = "memory"\nsize = "64MiB"\n[places.p]\nkind = "volume"\nvolume = "v"\n'
    with pytest.raises(UsageError, match=r"places\.p: a place on a volume needs root"):
        failed(f'{text}[databases.db]\nkind = "sqlite"\nplace = "p"\n', tmp_path / "c")
    assert not (tmp_path / "c").exists()
    assert not leftovers.find(tmp_path)


def test_a_path_that_may_not_be_written_to(tmp_path: Path) -> None:
    text = '[places.p]\npath = "/proc/sys"\n[databases.db]\nkind = "sqlite"\nplace = "p"\n'
    run = failed(text, tmp_path / "c")
    assert run.reason in {"permission", "unavailable"}, run.message
    assert "/proc/sys" in (run.message or "")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 120 MB."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=120m", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@needs_root
@pytest.mark.parametrize("kind", ["postgresql", "mariadb", "sqlite"])
def test_a_full_disk(tmp_path: Path, small: Path, kind: str) -> None:
    settings = {
        "postgresql": 'settings = { max_wal_size = "32MB", min_wal_size = "32MB" }',
        "mariadb": 'settings = { innodb_log_file_size = "8M", innodb_buffer_pool_size = "16M", '
        "innodb_doublewrite = false }",
        "sqlite": "",
    }
    text = f'[places.p]\npath = "{small}"\n[databases.db]\nkind = "{kind}"\nplace = "p"\n'
    workload = 'database = "db"\nmethod = "bulk"\ntransaction = 100_000'
    head = HEAD.replace("rows = 300", f"rows = 2_000_000\n{workload}")
    study = parse(f"{head}{text}{settings[kind]}\n", Path("study.toml"), core())
    found = execute(plan(study), Options(tmp_path / "c"), core(), Notes())
    assert [(run.status, run.reason) for run in found.runs] == [("failed", "no-space")], found.runs[0].message
    assert list(small.iterdir()) == []
    assert not leftovers.find(tmp_path / "c")


ACCOUNTS = {
    "postgresql": "CREATE ROLE weak LOGIN PASSWORD 'right'",
    "mariadb": "CREATE USER weak@localhost IDENTIFIED BY 'right'; GRANT SELECT ON fathom.* TO weak@localhost",
}


def asked(server: Server, sql: str) -> str:
    """What the server answers to an administrator."""
    assert server.client is not None
    flag = "-c" if server.database.kind == "postgresql" else "-e"
    return subprocess.run([*server.client, flag, sql], check=True, capture_output=True, text=True).stdout


def reached(server: Server, **changed: str) -> str:
    """How a study reaches a server that another campaign would call its own."""
    to = server.connection
    words = {"socket": to["address"]["socket"], "user": to["user"], "database": to["database"], **changed}
    inner = ", ".join(f'{key} = "{value}"' for key, value in words.items())
    return f'[databases.db]\nkind = "{server.database.kind}"\nconnect = {{ {inner} }}\n'


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_wrong_password_and_a_right_that_is_not_there(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("FATHOM_TEST_RIGHT", "right")
    monkeypatch.setenv("FATHOM_TEST_WRONG", "wrong")
    rules = tmp_path / "rules"
    rules.write_text("local all weak scram-sha-256\nlocal all all trust\n")
    settings = {"hba_file": str(rules)} if kind == "postgresql" else {}
    with provided(wants({"my": {"kind": kind, "settings": settings}}), scratch, Host()) as around:
        server = around.servers["my"]
        asked(server, ACCOUNTS[kind])
        for variable in ("FATHOM_TEST_WRONG", "FATHOM_TEST_RIGHT"):
            run = failed(reached(server, user="weak", password_env=variable), tmp_path / variable)
            assert run.reason == "permission", run.message
            assert re.search(r"denied|authentication failed", run.message or ""), run.message
        assert around.died() is None, "a server that ran before is left alone"


class Cutter(Notes):
    """Cuts every connection but its own, once the run that would last for minutes is under way."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self.server, self.due = server, False

    def run_begins(self, run: PlannedRun) -> None:
        super().run_begins(run)
        self.due = run.variant["workload.duration"] == LONG

    def progress(self, run: PlannedRun, share: float, words: str) -> None:
        if self.due and share > 0 and not words.startswith("loading"):
            self.due = False
            if self.server.database.kind == "postgresql":
                cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                asked(self.server, f"{cut} AND backend_type = 'client backend'")
                return
            others = "SELECT id FROM information_schema.processlist WHERE id <> connection_id() AND db = 'fathom'"
            for number in asked(self.server, others).split():
                # The first that is cut ends the run, and may take the next one with it.
                with contextlib.suppress(subprocess.CalledProcessError):
                    asked(self.server, f"KILL CONNECTION {number}")


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
@pytest.mark.parametrize("workload", ["insert", "tproc-c"])
def test_a_connection_lost_in_mid_run_is_a_lost_run_and_the_campaign_goes_on(
    scratch: Path, tmp_path: Path, kind: str, workload: str
) -> None:
    with provided(wants({"db": {"kind": kind}}), scratch, Host()) as around:
        server = around.servers["db"]
        head = WORKLOADS[workload].replace("[workload]", '[workload]\ndatabase = "db"')
        text = f'{head}{reached(server)}[factors]\n"workload.duration" = ["{LONG}", "500ms"]\n'
        found = campaign(text, tmp_path / "c", Cutter(server), head="")
        lost, other = sorted(found.runs, key=lambda run: run.variant["workload.duration"] != LONG)
        assert (lost.status, lost.reason) == ("failed", "lost"), lost.message
        assert (other.status, other.message) == ("ok", None)
        assert around.died() is None, "a server that ran before is left alone"
    assert not leftovers.find(tmp_path)
