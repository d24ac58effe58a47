"""TPROC-C on a write-back volume, and in mid-run the worst: cache device lost, daemon killed, or server killed.

The volume is served over FUSE; loop device, file system and database stand on it. Fathom's own workload runs. Then

    cache    fathomd is killed, the cache device blanked; the start refuses, and the loss that it names is accepted
    daemon   fathomd is killed; the cache is still there
    server   the database server is killed with all its processes; the volume goes on

and the file system is checked and mounted, the database recovered and asked. After a lost cache, what had been
committed must be there up to some moment and nothing after it; otherwise all of it. The twelve consistency conditions
must hold, and the database must go on working. Triggers note every order, payment and delivery in a table, in the
transaction itself. The order of commits comes from outside of the volume: PostgreSQL sends its log to a witness that
every commit waits for. SQLite has one writer, so that the notes' numbers are the order. Needs root, and for PostgreSQL
its server programs. Usage:

    scripts/loss_campaign.py postgresql cache --times 20 --file-system xfs
    scripts/loss_campaign.py sqlite cache --times 20
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kill_campaign import PATIENCE_S, Cluster, MountedVolume, Wrong, run
from loss_mariadb import Mariadb
from loss_notes import LOADED, NOTED, lost

from fathom.engine import core
from fathom.errors import FathomError
from fathom.host import fathomd, leftovers
from fathom.plan import plan
from fathom.study import parse

LOSSES = ("cache", "daemon", "server")
# After the drain in mid-run nothing is put in place for its age alone: a lost cache is then known to lose something.
CACHE = 'lag_target = "200s"\nlag_max = "300s"\n'
STUDY = """\
title = "t"
question = "q"
clock = "real"
[databases.db]
kind = "{kind}"
[workload]
kind = "tproc-c"
database = "db"
warehouses = 2
items = 400
customers = 60
users = {users}
ramp = "0s"
duration = "{duration}"
[compare]
metric = "nopm"
baseline = {{}}
"""
USERS = 4
LEAST_NOTES = 20
"""Of a run before the drain, and between it and the end."""

SETTLES_S = 0.3
"""What comes in during a drain is in a batch that may be on its way still when the drain has been answered."""
MOMENTS = 5


class Postgresql(Cluster):
    """A cluster, and a witness of its log outside of the volume."""

    def __init__(self, stand: MountedVolume) -> None:
        super().__init__(stand)
        self._witness: subprocess.Popen[bytes] | None = None
        self._life, self._from, self._log = 0, "", stand.home / "none"

    def connection(self) -> dict[str, Any]:
        """As the engine is told."""
        socket = str(self.run / ".s.PGSQL.5432")
        return {
            "kind": "postgresql", "address": {"socket": socket}, "user": "postgres", "password": None,
            "database": "postgres",
        }  # fmt: skip

    def _ask(self, *sql: str) -> str:
        words = [word for one in sql for word in ("-c", one)]
        return self.program("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", *words, *self.where()).strip()

    def note(self) -> None:
        """The table of notes, and triggers that fill it."""
        self._ask("CREATE TABLE notes (life int NOT NULL, xact bigint NOT NULL, what text NOT NULL)")
        self._triggers(0)
        for table, event in NOTED.items():
            made = f"CREATE TRIGGER noted AFTER {event} ON {table} FOR EACH ROW EXECUTE FUNCTION noting('{table}')"
            self._ask(made)

    def _triggers(self, life: int) -> None:
        values = f"VALUES ({life}, pg_current_xact_id()::text::bigint, TG_ARGV[0])"
        body = f"BEGIN INSERT INTO notes {values}; RETURN NULL; END"
        self._ask(f"CREATE OR REPLACE FUNCTION noting() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$")

    def begin(self) -> None:
        """A new life: its notes bear its number, a commit waits for the witness."""
        self._life += 1
        self._triggers(self._life)
        self._log = self.run / f"witness-{self._life}"
        self._log.mkdir(mode=0o700)
        shutil.chown(self._log, "postgres", "postgres")
        self._from = self._ask("SELECT pg_current_wal_insert_lsn()")
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig=KILL"]
        words = ["--no-loop", "--synchronous", "-D", self._log, *self.where()[:-1]]
        with (self.run / "witness.log").open("ab") as said:
            program = self.programs / "pg_receivewal"
            self._witness = subprocess.Popen([*command, program, *words], stdout=said, stderr=said, cwd="/")
        self._ask("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        until = time.monotonic() + PATIENCE_S
        while self._ask("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "1":
            if time.monotonic() > until or self._witness.poll() is not None:
                raise Wrong(f"no witness: {(self.run / 'witness.log').read_text()[-500:]}")
            time.sleep(0.02)

    def seen(self) -> int:
        """How many notes there are."""
        return self.number("SELECT count(*) FROM notes")

    def end(self) -> None:
        """The server is ended if it still runs, and with it the witness."""
        self.kill(((signal.SIGKILL, 20.0),))
        if self._witness is not None:
            self._witness.wait(PATIENCE_S)

    def check(self) -> tuple[int, int]:
        """Starts the server; how many transactions of this life are there, and how many are lost.

        Raises:
            Wrong: what is there is not what had been committed up to some moment, or is damaged.
        """
        self.start()
        self._ask("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
        self.sound()
        rows = self._ask(f"SELECT DISTINCT xact FROM notes WHERE life = {self._life}").split()
        for table, noted in {"orders": "orders", "history": "history"}.items():
            question = f"SELECT (SELECT count(*) FROM {table}), (SELECT count(*) FROM notes WHERE what = '{noted}')"
            there, notes = map(int, self._ask(question).split("|"))
            self._grown(table, there - notes)
        found = [int(row) for row in rows]
        return len(found), lost(self._committed(), found)

    def _grown(self, table: str, before: int) -> None:
        """Rows of a table less their notes are always those that were loaded."""
        if before != LOADED:
            raise Wrong(f"{table} has {before - LOADED} rows more than notes tell of")

    def _committed(self) -> list[int]:
        """Transactions with notes in the order of their commits, as the witness has them."""
        for partial in self._log.glob("*.partial"):
            partial.rename(partial.with_suffix(""))
        node = self._ask(
            "SELECT coalesce(nullif(reltablespace, 0), dattablespace) || '/' || d.oid || '/' || relfilenode"
            " FROM pg_class c, pg_database d WHERE relname = 'notes' AND datname = current_database()"
        )
        # 1: the end of what the witness has is no whole record.
        words = (self.programs / "pg_waldump", "-p", self._log, "-s", self._from)
        noted = run(*words, "-r", "Heap", "-R", node, user="postgres", codes=(0, 1))
        ended = run(*words, "-r", "Transaction", user="postgres", codes=(0, 1))
        writers = set(re.findall(r"tx:\s+(\d+),.*desc: INSERT", noted))
        return [int(one) for one in re.findall(r"tx:\s+(\d+),.*desc: COMMIT", ended) if one in writers]


class Sqlite:
    """One file in WAL mode."""

    name = "sqlite"

    def __init__(self, stand: MountedVolume) -> None:
        self._directory = stand.system
        self._life = self._seen = self._before = 0

    def connection(self) -> dict[str, Any]:
        """As the engine is told."""
        directory = str(self._directory)
        return {
            "kind": "sqlite", "address": {"directory": directory}, "user": "", "password": None, "database": "main",
        }  # fmt: skip

    def _ask(self, *sql: str) -> list[Any]:
        """Statements while nobody else has the file open: two SQLites in one process would lose each other's locks."""
        database = sqlite3.connect(self._directory / "main.db", isolation_level=None)
        try:
            return [database.execute(one).fetchall() for one in sql][-1]
        finally:
            database.close()

    def note(self) -> None:
        """The table of notes, and triggers that fill it."""
        self._ask(
            "CREATE TABLE notes (number INTEGER PRIMARY KEY, what TEXT NOT NULL)",
            *(
                f"CREATE TRIGGER noted_{table} AFTER {event} ON {table} "
                f"BEGIN INSERT INTO notes (what) VALUES ('{table}'); END"
                for table, event in NOTED.items()
            ),
        )

    def begin(self) -> None:
        """A new life: its notes follow those that are there."""
        self._before = self._seen = self._number()

    def _number(self) -> int:
        return int(self._ask("SELECT coalesce(max(number), 0) FROM notes")[0][0])

    def seen(self) -> int:
        """Looks, in a process of its own, how far the notes have come: what a reader sees has been committed."""
        code = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])"
        path = self._directory / "main.db"
        self._seen = int(run(sys.executable, "-c", code, path, "SELECT coalesce(max(number), 0) FROM notes"))
        return self._seen

    def end(self) -> None:
        """There is no server."""

    def check(self) -> tuple[int, int]:
        """As for PostgreSQL."""
        verdict = self._ask("PRAGMA integrity_check")[0][0]
        if verdict != "ok":
            raise Wrong(f"integrity_check: {verdict}")
        numbers = [number for (number,) in self._ask("SELECT number FROM notes")]
        for table in ("orders", "history"):
            there = self._ask(f"SELECT (SELECT count(*) FROM {table})")[0][0]
            notes = self._ask(f"SELECT count(*) FROM notes WHERE what = '{table}'")[0][0]
            if there - notes != LOADED:
                raise Wrong(f"{table} has {there} rows and {notes} notes")
        life = [number for number in numbers if number > self._before]
        return len(life), lost(range(self._before + 1, self._seen + 1), life)


Database = Mariadb | Postgresql | Sqlite
DATABASES: dict[str, type[Database]] = {database.name: database for database in (Mariadb, Postgresql, Sqlite)}


class Stopped(Exception):
    """The worst has been done; the run may end."""


class Runs:
    """Loads, and runs TPROC-C, on one database."""

    def __init__(self, kind: str, scratch: Path, connection: dict[str, Any]) -> None:
        self._text = {
            duration: STUDY.format(kind=kind, duration=duration, users=USERS) for duration in ("600s", "100ms")
        }
        self._scratch, self._connection = scratch, json.dumps({"db": connection})
        self._engine = core()

    def _entry(self, duration: str, seed: int) -> str:
        """A planned run of that length, as JSON."""
        made = plan(parse(self._text[duration], Path("study.toml"), self._engine), rounds=1)
        return json.dumps(made.entry(made.runs[0]) | {"seed": seed})

    def load(self) -> None:
        """Loads the database."""
        self._engine.load(self._entry("100ms", 1), self._scratch, None, self._connection)

    def until(self, tick: Callable[[float, str], None], seed: int) -> None:
        """Runs until `tick` has stopped it by what it did; whether the engine saw that is not asked."""
        try:
            self._engine.run(self._entry("600s", seed), self._scratch, tick, self._connection)
        except (Stopped, self._engine.RunFailed):
            return
        raise Wrong("the run came to its end")

    def shortly(self, seed: int) -> None:
        """Runs for a moment; the conditions are checked before and after.

        Raises:
            Wrong: one of them does not hold, or the database does not work.
        """
        try:
            self._engine.run(self._entry("100ms", seed), self._scratch, None, self._connection)
        except self._engine.RunFailed as failure:
            raise Wrong(f"after the recovery: {failure}") from None


def lose_cache(stand: MountedVolume) -> None:
    """The daemon is killed, the cache device comes back blank; the start refuses, the loss is accepted.

    Raises:
        Wrong: the daemon served the volume as if nothing had been lost.
    """
    cache = stand.home / "nvme"
    size = cache.stat().st_size
    os.truncate(cache, 0)
    os.truncate(cache, size)
    try:
        fathomd.Serving.start(stand.settings, stand.home / "log").kill()
    except FathomError as refusal:
        named = re.search(r"accept_loss = (\d+)", refusal.what)
    else:
        raise Wrong("a volume without its cache was served")
    if named is None:
        raise Wrong(f"the refusal names no incarnation: {(stand.home / 'log').read_text()[-2000:]}")
    stand.configure(named.group(0))


def once(stand: MountedVolume, database: Database, runs: Runs, loss: str, seed: int) -> tuple[int, int]:
    """One run and its end; transactions of it that are there, and that are lost."""
    status = stand.home / "status.sock"
    chance = random.Random(seed)
    database.begin()
    fathomd.ask(status, "POST", "/drain", PATIENCE_S)
    first = database.seen()
    drained: list[int] = []

    def tick(*_: object) -> None:
        if not drained:
            if database.seen() < first + LEAST_NOTES:
                return
            # What has been noted until now is left by a lost cache, what comes after the drain's last batch is not.
            fathomd.ask(status, "POST", "/drain", PATIENCE_S)
            time.sleep(SETTLES_S)
            drained.append(database.seen())
            return
        if database.seen() < drained[0] + LEAST_NOTES:
            return
        time.sleep(chance.uniform(0, 0.3))
        if loss == "server":
            database.end()
        else:
            stand.kill()
        raise Stopped

    runs.until(tick, seed)
    database.end()
    if loss != "server":
        stand.take_off()
        if loss == "cache":
            lose_cache(stand)
        stand.start()
    there, missing = database.check()
    if loss != "cache" and missing:
        raise Wrong(f"{missing} committed transactions are lost, and no device was")
    if loss == "cache" and there == 0:
        raise Wrong(f"none of {missing} transactions are left although some had been put in place")
    runs.shortly(seed)
    return there, missing


def telling(stand: MountedVolume, database: Database, runs: Runs, loss: str, seed: int) -> tuple[int, int]:
    """As `once`; a lost cache that held nothing the database needs tells nothing, and another moment is tried.

    Raises:
        Wrong: no moment was a loss, as if the cache's writes had never been only there.
    """
    for moment in range(MOMENTS):
        there, missing = once(stand, database, runs, loss, seed + 1_000_000 * moment)
        if loss != "cache" or missing:
            return there, missing
    raise Wrong(f"the cache was lost at {MOMENTS} moments, and never a transaction with it")


def campaign(kind: str, loss: str, file_system: str, times: int, seed: int, tell: bool = False) -> dict[str, int | str]:
    """That many losses, each with all checks; what came of them.

    Raises:
        Wrong: with the number of the loss and the seed.
    """
    # Short, for sockets' paths; below it everything can be found and taken away.
    root = Path(tempfile.mkdtemp(prefix="fathom-loss-"))
    root.chmod(0o711)
    home = root / "stand"
    home.mkdir(mode=0o711)
    number = kept = gone = 0
    try:
        stand = MountedVolume(home, file_system, CACHE)
        database = DATABASES[kind](stand)
        runs = Runs(kind, root, database.connection())
        runs.load()
        database.note()
        for number in range(1, times + 1):
            there, missing = telling(stand, database, runs, loss, seed + number)
            kept, gone = kept + there, gone + missing
            if tell:
                print(f"{loss} {number}: {there} transactions are there, {missing} lost", flush=True)
        if not isinstance(database, Sqlite):
            database.close()
        stand.stop()
    except (Wrong, FathomError, subprocess.TimeoutExpired) as problem:
        logs = [path for path in (home / "log", home / "run" / "log") if path.exists()]
        said = "\n".join(f"{path.relative_to(home)}:\n{path.read_text(errors='replace')[-3000:]}" for path in logs)
        raise Wrong(f"{kind} on {file_system}, {loss} {number}, seed {seed}: {problem}\n{said}") from None
    finally:
        leftovers.remove(root)
        shutil.rmtree(root, ignore_errors=True)
    return {
        "database": kind, "file_system": file_system, "loss": loss, "seed": seed, "times": times, "there": kept,
        "lost": gone,
    }  # fmt: skip


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", choices=sorted(DATABASES))
    parser.add_argument("loss", choices=LOSSES)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--file-system", choices=("ext4", "xfs"), default="ext4")
    parser.add_argument("--seed", type=int, default=1, help="of the runs and of the moments of the losses")
    chosen = parser.parse_args()
    if (chosen.database, chosen.loss) == ("sqlite", "server"):
        parser.error("SQLite has no server")
    if os.geteuid() != 0:
        print("error: loop devices and mounts need root", file=sys.stderr)
        return 2
    try:
        done = campaign(chosen.database, chosen.loss, chosen.file_system, chosen.times, chosen.seed, tell=True)
    except Wrong as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    print(json.dumps(done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
