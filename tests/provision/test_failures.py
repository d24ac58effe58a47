"""What a run cannot have makes it a failed run with its reason; the host is left as it was."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fathom import results
from fathom.engine import core
from fathom.host import leftovers
from fathom.plan import plan
from fathom.provision.host import Host
from fathom.provision.provide import provided
from fathom.run import Options, execute
from fathom.study import parse
from pipeline.fake import Notes
from provision.conftest import needs_root, wants
from provision.test_runs import HEAD


def failed(text: str, directory: Path, workload: str = 'database = "db"') -> results.Run:
    """The one run of a study that cannot have what it needs."""
    study = parse(HEAD.replace("rows = 300", f"rows = 300\n{workload}") + text, Path("study.toml"), core())
    found = execute(plan(study), Options(directory), core(), Notes())
    assert len(found.runs) == 1
    assert found.runs[0].status == "failed"
    return found.runs[0]


def test_nobody_listens(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    connect = f'{{ host = "127.0.0.1", port = {port}, user = "u", database = "d" }}'
    run = failed(f'[databases.db]\nkind = "postgresql"\nconnect = {connect}\n', tmp_path / "c")
    assert run.reason == "unavailable", run.message
    assert re.search(r"refused", run.message or "", re.I)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = f'{{ listen_addresses = "127.0.0.1", port = {port} }}'
        run = failed(f'[databases.db]\nkind = "postgresql"\nsettings = {settings}\n', tmp_path / "c")
    assert run.reason == "unavailable", run.message
    assert "in use" in (run.message or "")
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
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_a_full_disk(tmp_path: Path, small: Path, kind: str) -> None:
    settings = {
        "postgresql": '{ max_wal_size = "32MB", min_wal_size = "32MB" }',
        "mariadb": '{ innodb_log_file_size = "8M", innodb_buffer_pool_size = "16M", innodb_doublewrite = false }',
    }
    text = f'[places.p]\npath = "{small}"\n[databases.db]\nkind = "{kind}"\nplace = "p"\n'
    workload = 'database = "db"\nmethod = "bulk"\ntransaction = 100_000'
    head = HEAD.replace("rows = 300", f"rows = 2_000_000\n{workload}")
    study = parse(f"{head}{text}settings = {settings[kind]}\n", Path("study.toml"), core())
    found = execute(plan(study), Options(tmp_path / "c"), core(), Notes())
    assert [(run.status, run.reason) for run in found.runs] == [("failed", "no-space")], found.runs[0].message
    assert list(small.iterdir()) == []
    assert not leftovers.find(tmp_path / "c")


def test_a_wrong_password_and_a_right_that_is_not_there(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOM_TEST_RIGHT", "right")
    monkeypatch.setenv("FATHOM_TEST_WRONG", "wrong")
    users = "CREATE USER weak@localhost IDENTIFIED BY 'right'; GRANT SELECT ON fathom.* TO weak@localhost"
    with provided(wants({"my": {"kind": "mariadb"}}), scratch, Host()) as around:
        server = around.servers["my"]
        assert server.client is not None
        subprocess.run([*server.client, "-e", users], check=True)
        path = server.connection["address"]["socket"]
        for variable in ("FATHOM_TEST_WRONG", "FATHOM_TEST_RIGHT"):
            connect = f'{{ socket = "{path}", user = "weak", password_env = "{variable}", database = "fathom" }}'
            run = failed(f'[databases.db]\nkind = "mariadb"\nconnect = {connect}\n', tmp_path / variable)
            assert run.reason == "permission", run.message
            assert re.search(r"denied", run.message or ""), run.message
            assert around.died() is None, "a server that ran before is left alone"
