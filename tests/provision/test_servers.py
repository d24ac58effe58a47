"""Private servers: they answer with the settings asked for, on the places asked for, and are gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fathom.host import leftovers
from fathom.observe.observer import Observer
from fathom.observe.sample import Key
from fathom.provision import existing
from fathom.provision.failure import ProvisionError
from fathom.provision.host import Host
from fathom.provision.provide import provided
from fathom.provision.server import Server
from provision.conftest import wants


def ask(server: Server, sql: str) -> str:
    """What the server answers to one statement."""
    assert server.client is not None
    flag = "-c" if server.database.kind == "postgresql" else "-e"
    done = subprocess.run([*server.client, flag, sql], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_postgresql_server_has_its_settings_and_places(scratch: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    settings: dict[str, Any] = {"shared_buffers": "16MB", "synchronous_commit": False, "work_mem": "3MB"}
    database = {"kind": "postgresql", "settings": settings, "log_place": "log", "temp_place": "disk", "cpus": 1}
    wanted = wants({"pg": database}, {"log": {}, "disk": {"path": str(disk)}})
    with provided(wanted, scratch, Host()) as around:
        server = around.servers["pg"]
        assert ask(server, "SHOW shared_buffers") == "16MB"
        assert ask(server, "SHOW synchronous_commit") == "off"
        assert ask(server, "SELECT spcname FROM pg_tablespace WHERE spcname LIKE 'fathom%'") == "fathom_temp"
        assert list((scratch / "places/log/pg-log").glob("0000*")), "the log lies in its own place"
        assert list(disk.glob(".fathom-scratch-*/pg-temp/*")), "temporary files lie in theirs"
        pid = server.processes["server"].pid
        assert pid is not None
        assert len(os.sched_getaffinity(pid)) == 1
        assert around.died() is None
        assert around.facts["places.disk.file_system"]
    assert not leftovers.find(tmp_path)
    assert list(disk.iterdir()) == []
    assert not Path(server.connection["address"]["socket"]).exists()


def test_a_mariadb_server_has_its_settings_and_places(scratch: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"innodb_buffer_pool_size": "32M", "innodb_doublewrite": False}
    database = {"kind": "mariadb", "settings": settings, "log_place": "log"}
    with provided(wants({"my": database}, {"log": {}}), scratch, Host()) as around:
        server = around.servers["my"]
        assert (
            ask(server, "SELECT @@innodb_buffer_pool_size, @@innodb_doublewrite, DATABASE()") == "33554432\t0\tfathom"
        )
        assert (scratch / "places/log/my-log/ib_logfile0").exists()
    assert not leftovers.find(tmp_path)


def test_sqlite_gets_a_directory(scratch: Path) -> None:
    with provided(wants({"lite": {"kind": "sqlite", "place": "here"}}, {"here": {}}), scratch, Host()) as around:
        place = around.servers["lite"].connection["address"]["directory"]
        assert Path(place) == scratch / "places/here/lite-data"
        assert Path(place).is_dir()


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        ("postgresql", {"shared_bufers": "16MB"}, "shared_bufers"),
        ("postgresql", {"max_connections": "many"}, "max_connections"),
        ("mariadb", {"inodb_doublewrite": True}, "inodb_doublewrite"),
    ],
)
def test_a_wrong_setting_is_the_reason(
    scratch: Path, tmp_path: Path, kind: str, settings: dict[str, Any], words: str
) -> None:
    with (
        pytest.raises(ProvisionError, match=words) as failed,
        provided(wants({"db": {"kind": kind, "settings": settings}}), scratch, Host()),
    ):
        pytest.fail("it must not start")
    assert failed.value.reason == "settings"
    assert not leftovers.find(tmp_path)


def test_a_server_that_was_killed_is_noticed_and_cleared_away(scratch: Path, tmp_path: Path) -> None:
    with provided(wants({"pg": {"kind": "postgresql"}}), scratch, Host()) as around:
        process = around.servers["pg"].processes["server"]
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert "databases.pg is gone" in (around.died() or "")
    assert not leftovers.find(tmp_path)


def test_more_cpus_than_there_are_is_a_failed_run(scratch: Path) -> None:
    with (
        pytest.raises(ProvisionError, match="asks for 1000 CPUs") as failed,
        provided(wants({"pg": {"kind": "postgresql", "cpus": 1000}}), scratch, Host()),
    ):
        pytest.fail("it must not start")
    assert failed.value.reason == "settings"


def test_a_server_that_ran_before_is_found_by_its_socket_and_its_processor_time_counted(scratch: Path) -> None:
    wanted = wants({"pg": {"kind": "postgresql", "place": "here"}}, {"here": {}})
    with provided(wanted, scratch, Host()) as around:
        process = around.servers["pg"].processes["server"]
        path = around.servers["pg"].connection["address"]["socket"]
        connect = {
            "socket": str(Path(path).parent), "host": None, "port": None, "user": "u", "password_env": None,
            "database": "d", "tls": None, "tls_ca": None, "timeout_ns": None,
        }  # fmt: skip
        again = wants({"there": {"kind": "postgresql", "connect": connect}})
        with provided(again, scratch.parent / "again", Host()) as second:
            there = second.servers["there"]
            assert there.connection["address"] == {"socket": path}
            assert (there.neighbour, there.processes) == (process.pid, {})
            observer = Observer(second, scratch)
            assert observer.observe().counters[Key("server", "cpu_s", "there")] > 0
            observer.close()
    assert existing.listener(Path(path)) is None, "nobody listens any more"


def test_a_password_comes_from_the_environment(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = {
        "socket": None, "host": "db", "port": None, "user": "u", "password_env": "FATHOM_TEST_PW", "database": "d",
        "tls": "verify-full", "tls_ca": "/ca.pem", "timeout_ns": 5_000_000_000,
    }  # fmt: skip
    wanted = wants({"there": {"kind": "mariadb", "connect": connect}})
    with pytest.raises(ProvisionError, match="FATHOM_TEST_PW is not set"), provided(wanted, scratch, Host()):
        pytest.fail("there is no password")
    monkeypatch.setenv("FATHOM_TEST_PW", "secret")
    with provided(wanted, scratch, Host()) as around:
        connection = around.servers["there"].connection
    assert (connection["address"], connection["password"]) == ({"tcp": ["db", 3306]}, "secret")
    assert (connection["tls"], connection["tls_ca"]) == ("verify-full", "/ca.pem")
    assert connection["timeout_ns"] == 5_000_000_000


def test_a_commit_waits_for_the_standby(scratch: Path, tmp_path: Path) -> None:
    standby = {"place": "second", "log_place": None, "commit": "remote_apply"}
    wanted = wants({"pg": {"kind": "postgresql", "standby": standby}}, {"second": {}})
    with provided(wanted, scratch, Host()) as around:
        server = around.servers["pg"]
        assert ask(server, "SELECT sync_state FROM pg_stat_replication") == "sync"
        assert ask(server, "SHOW synchronous_commit") == "remote_apply"
        ask(server, "CREATE TABLE t AS SELECT generate_series(1, 100) AS x")
        socket = Path(server.connection["address"]["socket"]).parent.with_name("pg-standby")
        assert server.client is not None
        there = [word.replace(str(socket.with_name("pg")), str(socket)) for word in server.client]
        counted = subprocess.run([*there, "-c", "SELECT count(*) FROM t"], capture_output=True, text=True, check=True)
        assert counted.stdout.strip() == "100"
        assert set(server.processes) == {"server", "standby"}
        # A backup beside the workload checkpoints again and again; the log that the standby lacks is kept all the same.
        assert ask(server, "SELECT active FROM pg_replication_slots WHERE slot_name = 'fathom_standby'") == "t"
    assert not leftovers.find(tmp_path)
