"""Servers that ran before: observed by a session of their own, as far as the user's rights go, and without a place."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fathom.observe import observed
from fathom.observe.observer import Observer
from fathom.observe.sample import Key, Observation
from fathom.provision import existing, files
from fathom.provision.database import Address
from fathom.provision.database.mariadb import server as mariadb
from fathom.provision.database.postgresql import server as postgresql
from fathom.provision.failure import ProvisionError
from fathom.provision.host import Host
from fathom.provision.provide import Provided, provided
from fathom.provision.requirements import Connect
from provision.conftest import wants
from provision.test_servers import ask


@contextmanager
def _connected(around: Provided, kind: str, scratch: Path, **other: Any) -> Iterator[Provided]:
    """The private server of that kind once more, as one that ran before."""
    found = around.servers["own"].connection
    connect = {
        "socket": found["address"]["socket"], "host": None, "port": None, "user": found["user"], "password_env": None,
        "database": found["database"], "tls": None, "tls_ca": None, "timeout_ns": None,
    } | other  # fmt: skip
    with provided(wants({"there": {"kind": kind, "connect": connect}}), scratch.parent / "there", Host()) as second:
        yield second


def _seen(around: Provided, scratch: Path, observer: Observer) -> tuple[Observation, Observation]:
    first = observer.observe()
    ask(around.servers["own"], "CREATE TABLE t AS SELECT 1 AS a")
    return first, observer.observe()


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_what_a_server_that_ran_before_does_is_observed(scratch: Path, kind: str) -> None:
    with (
        provided(wants({"own": {"kind": kind}}), scratch, Host()) as around,
        _connected(around, kind, scratch) as there,
    ):
        observer = Observer(there, scratch)
        first, last = _seen(around, scratch, observer)
        assert observer.waits().counters == {}
        observer.close()
        assert observer.troubles == {}
        metrics = observed.metrics([first, last], (first.at_ns, last.at_ns), 5.0)
        assert (metrics["log_mb_per_s"] or 0) > 0
        assert metrics["pages_written_per_second"] is not None


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_the_disk_of_the_scratch_directory_is_none_of_a_server_that_ran_before(scratch: Path, kind: str) -> None:
    with (
        provided(wants({"own": {"kind": kind}}), scratch, Host()) as around,
        _connected(around, kind, scratch) as there,
    ):
        observer = Observer(there, scratch)
        first, last = _seen(around, scratch, observer)
        observer.close()
        assert not [key for key in last.counters if key.kind == "place"]
        metrics = observed.metrics([first, last], (first.at_ns, last.at_ns), 5.0)
        assert {value for name, value in metrics.items() if name.startswith("place_")} == {None}


def test_a_right_that_is_missing_is_told_and_the_rest_goes_on(scratch: Path) -> None:
    with provided(wants({"own": {"kind": "postgresql"}}), scratch, Host()) as around:
        own = around.servers["own"]
        ask(own, "CREATE ROLE low LOGIN")
        ask(own, "REVOKE EXECUTE ON FUNCTION pg_control_checkpoint() FROM PUBLIC")
        with _connected(around, "postgresql", scratch, user="low") as there:
            observer = Observer(there, scratch)
            observed_now = observer.observe()
            observer.close()
        (why,) = observer.troubles.values()
        assert "permission denied for function pg_control_checkpoint" in why
        assert Key("driver", "cpu_s") in observed_now.counters
        assert Key("server", "cpu_s", "there") in observed_now.counters


def test_a_client_that_is_not_here_is_a_fact_and_no_failure(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> str:
        raise ProvisionError("unavailable", "there is no program `psql` here")

    monkeypatch.setattr(Host, "program", missing)
    connect = Connect(socket=None, host="db", port=None, user="u", password_env=None, database="d")
    database = wants({"there": {"kind": "postgresql"}}).databases[0]
    with existing.running(Host(), database, connect) as server:
        assert server.client is None
        assert server.facts["samples"] == "not sampled: there is no program `psql` here"


@pytest.mark.parametrize("kind", ["mysql", "sqlserver"])
def test_a_server_whose_statistics_are_not_read_says_so(kind: str) -> None:
    connect = Connect(socket=None, host="db", port=None, user="u", password_env=None, database="d")
    with existing.running(Host(), wants({"there": {"kind": kind}}).databases[0], connect) as server:
        assert server.facts["samples"] == f"not sampled: the statistics of {kind} are not read beside a run"


@pytest.mark.parametrize(
    ("tls", "options", "mode"),
    [
        (None, ["--skip-ssl-verify-server-cert"], "prefer"),
        ("disable", ["--skip-ssl"], "disable"),
        ("require", ["--ssl", "--skip-ssl-verify-server-cert"], "require"),
        ("verify-full", ["--ssl", "--ssl-ca=/ca.pem", "--ssl-verify-server-cert"], "verify-full"),
    ],
)
def test_the_client_is_encrypted_as_the_study_says(tls: str | None, options: list[str], mode: str) -> None:
    connect = Connect(
        socket=None, host="db", port=None, user="u", password_env="PW", database="d", tls=tls, tls_ca="/ca.pem"
    )
    at = Address(None, "db", 4000)
    command, environment = mariadb.client_of(Host(), connect, at, "secret")
    assert [word for word in command if "ssl" in word] == options
    assert environment == {"MYSQL_PWD": "secret"}
    assert "secret" not in " ".join(command)
    command, environment = postgresql.client_of(Host(), connect, at, "secret")
    assert (environment["PGSSLMODE"], environment["PGPASSWORD"]) == (mode, "secret")
    assert environment.get("PGSSLROOTCERT") == ("/ca.pem" if mode == "verify-full" else None)
    assert "secret" not in " ".join(command)


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
@pytest.mark.parametrize("memory", [False, True])
def test_a_server_that_ran_before_tells_where_its_files_lie(
    scratch: Path, tmp_path: Path, kind: str, memory: bool
) -> None:
    if memory and not os.access("/dev/shm", os.W_OK):
        pytest.skip("there is no file system in memory")
    where = tempfile.mkdtemp(dir="/dev/shm") if memory else str(tmp_path)
    try:
        Path(where).chmod(0o755)
        wanted = wants({"own": {"kind": kind, "place": "here"}}, {"here": {"path": where}})
        with provided(wanted, scratch, Host()) as around, _connected(around, kind, scratch) as there:
            assert where in there.facts["databases.there.files"]
            lost = there.facts.get("databases.there.files.may_lose")
            assert lost == ("its files are in memory (tmpfs): a restart takes all of them" if memory else None)
    finally:
        if memory:
            shutil.rmtree(where)


def test_of_a_server_elsewhere_it_is_not_known_where_its_files_lie() -> None:
    connect = Connect(socket=None, host="db", port=None, user="u", password_env=None, database="d")
    with existing.running(Host(), wants({"there": {"kind": "postgresql"}}).databases[0], connect) as server:
        assert server.facts["files"] == "where they lie is not known"


def test_a_directory_of_that_name_with_the_file_of_another_server_is_none_of_it(tmp_path: Path) -> None:
    (tmp_path / "pg_wal").mkdir()
    (tmp_path / "postmaster.pid").write_text(f"42\n{tmp_path}\n1000000\n5432\n", encoding="utf-8")
    assert files.postgresql(lambda _: f"{tmp_path}|5432|1000001") == [tmp_path, tmp_path / "pg_wal"]
    assert files.postgresql(lambda _: f"{tmp_path}|5432|1000002") == []
    assert files.postgresql(lambda _: f"{tmp_path}|5433|1000000") == []
