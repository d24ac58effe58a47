"""MariaDB on a volume that is lost: how `loss_campaign.py` starts and ends it, and what it asks afterwards.

Triggers note every order, payment and delivery, each session with numbers of its own, one after the other. A session
commits one transaction before it begins the next: of each, what is there must be the first so many of its numbers. How
many there must be is looked up from outside of the volume, shortly before the worst.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from typing import Any

from kill_campaign import PATIENCE_S, MountedVolume, Wrong, run
from loss_notes import LOADED, NOTED, lost


class Mariadb:
    """A server with its data on the volume; every commit waits for its log."""

    name = "mariadb"

    def __init__(self, stand: MountedVolume) -> None:
        self._data, self._run = stand.system / "data", stand.home / "run"
        self._server: subprocess.Popen[bytes] | None = None
        self._life = 0
        self._seen: dict[int, int] = {}
        # A starting server deletes the temporary tables it finds, those of another one in a shared directory too.
        self._temporary = stand.home / "temporary"
        for directory in (self._data, self._run, self._temporary):
            directory.mkdir(mode=0o700)
            shutil.chown(directory, "mysql", "mysql")
        install = ["mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]
        run(*install, f"--datadir={self._data}", f"--tmpdir={self._temporary}", user="mysql")
        self._start()
        self._ask("CREATE DATABASE work", database="mysql")

    def connection(self) -> dict[str, Any]:
        """As the engine is told."""
        socket = str(self._run / "socket")
        return {
            "kind": "mariadb", "address": {"socket": socket}, "user": "root", "password": None, "database": "work",
        }  # fmt: skip

    def _ask(self, sql: str, database: str = "work") -> list[list[str]]:
        words = ["mariadb", "--no-defaults", "-BN", f"--socket={self._run / 'socket'}", "--user=root", database]
        return [line.split("\t") for line in run(*words, "-e", sql).splitlines()]

    def _start(self) -> None:
        """Starts the server, which recovers; afterwards it answers."""
        wrapped = ["setpriv", "--reuid=mysql", "--regid=mysql", "--init-groups", "--pdeathsig=KILL"]
        command = ["mariadbd", "--no-defaults", f"--datadir={self._data}", f"--socket={self._run / 'socket'}"]
        command += ["--skip-networking", f"--pid-file={self._run / 'pid'}", "--innodb-buffer-pool-size=32M"]
        command += [f"--tmpdir={self._temporary}"]
        command += ["--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=1"]
        # Past the page cache, InnoDB 10.11.19 appends to a block of its log while the device reads it. What that gets
        # may lack the byte that ends the log, and recovery goes on into what the buffer held before: the same records
        # twice, a damaged index. One loss in sixty showed it, and so did the same bytes on a plain file.
        command += ["--innodb-log-file-buffering=ON"]
        with (self._run / "log").open("ab") as said:
            self._server = subprocess.Popen([*wrapped, *command], stdout=said, stderr=said, cwd="/")
        until = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(Wrong):
                self._ask("SELECT 1", database="mysql")
                return
            if time.monotonic() > until or self._server.poll() is not None:
                raise Wrong("the server does not start")
            time.sleep(0.1)

    def note(self) -> None:
        """The table of notes, which life it is, and triggers that fill the one by the other.

        They are made once: a trigger is two files beside its table, which no log brings back together.
        """
        columns = "life int NOT NULL, session int unsigned NOT NULL, number int unsigned NOT NULL, what varchar(20)"
        self._ask(f"CREATE TABLE notes ({columns}, PRIMARY KEY (life, session, number)) ENGINE = InnoDB")
        self._ask("CREATE TABLE life (number int NOT NULL PRIMARY KEY) ENGINE = InnoDB; INSERT INTO life VALUES (0)")
        life = "(SELECT l.number FROM life AS l)"
        for table, event in NOTED.items():
            mine = f"n.life = {life} AND n.session = connection_id()"
            number = f"(SELECT coalesce(max(n.number), 0) + 1 FROM notes AS n WHERE {mine})"
            values = f"VALUES ({life}, connection_id(), {number}, '{table}')"
            self._ask(f"CREATE TRIGGER noted_{table} AFTER {event} ON {table} FOR EACH ROW INSERT INTO notes {values}")

    def begin(self) -> None:
        """A new life: its notes bear its number."""
        self._life += 1
        self._seen = {}
        self._ask(f"UPDATE life SET number = {self._life}")

    def _found(self) -> dict[int, list[int]]:
        """The numbers of each session of this life that are there."""
        found: dict[int, list[int]] = {}
        for session, number in self._ask(f"SELECT session, number FROM notes WHERE life = {self._life}"):
            found.setdefault(int(session), []).append(int(number))
        return found

    def seen(self) -> int:
        """How many notes of this life have been committed. InnoDB shows a transaction before its log is durable."""
        found = self._found()
        shown = self._status("Innodb_lsn_current")
        until = time.monotonic() + PATIENCE_S
        while self._status("Innodb_lsn_flushed") < shown:
            if time.monotonic() > until:
                raise Wrong(f"the log is not flushed up to {shown}")
            time.sleep(0.002)
        self._seen = {session: max(numbers) for session, numbers in found.items()}
        return sum(self._seen.values())

    def _status(self, name: str) -> int:
        return int(self._ask(f"SHOW GLOBAL STATUS LIKE '{name}'")[0][1])

    def end(self) -> None:
        """The server is ended if it still runs."""
        if self._server is not None:
            self._server.send_signal(signal.SIGKILL)
            self._server.wait(PATIENCE_S)

    def check(self) -> tuple[int, int]:
        """As for PostgreSQL; what is missing is counted in notes.

        Raises:
            Wrong: a session's transaction is missing although a later one of it is there, or something is damaged.
        """
        self._start()
        self._rolled_back()
        damaged = [words for words in self._ask("CHECK TABLE " + ", ".join((*NOTED, "notes"))) if words[-1] != "OK"]
        if damaged:
            raise Wrong(f"CHECK TABLE: {damaged}")
        for table in ("orders", "history"):
            question = f"SELECT (SELECT count(*) FROM {table}) - (SELECT count(*) FROM notes WHERE what = '{table}')"
            before = int(self._ask(question)[0][0])
            if before != LOADED:
                raise Wrong(f"{table} has {before - LOADED} rows more than notes tell of")
        found = self._found()
        missing = 0
        for session in self._seen.keys() | found.keys():
            numbers = found.get(session, [])
            committed = range(1, max(self._seen.get(session, 0), *numbers, 0) + 1)
            missing += lost(committed, numbers)
        return sum(map(len, found.values())), missing

    def _rolled_back(self) -> None:
        """Waits for the end of recovery: it rolls back beside the first sessions, and a check meets rows that move."""
        until = time.monotonic() + PATIENCE_S
        while int(self._ask("SELECT count(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = 0")[0][0]):
            if time.monotonic() > until:
                raise Wrong("what was under way is not rolled back")
            time.sleep(0.05)

    def close(self) -> None:
        """Stops the server."""
        if self._server is not None:
            os.kill(self._server.pid, signal.SIGTERM)
            self._server.wait(PATIENCE_S)
