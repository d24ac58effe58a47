"""Kills fathomd under real databases, again and again: nothing acknowledged may be lost, nothing may be silently wrong.

A volume (a write-back cache in front of a file) is served over FUSE, a loop device and a file system stand on it, a
database works there. `kill -9` hits the daemon at a random moment; then the file system is taken off, a new daemon
started, the file system checked and mounted, the database recovered and asked for every transaction that was
acknowledged. Needs root, and for PostgreSQL its server programs. Usage:

    scripts/kill_campaign.py sqlite --kills 150 --seed 1
    scripts/kill_campaign.py postgresql --kills 50 --file-system xfs
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
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
from collections.abc import Sequence
from pathlib import Path

from fathom.host import fathomd, leftovers

PATIENCE_S = 180.0
CLIENTS = 4
KINDLY = ((signal.SIGQUIT, 20.0), (signal.SIGKILL, 20.0))
"""A server without a disk: asked to end at once, then ended."""
SETTINGS = """\
[daemon]
socket = "{home}/nbd.sock"
status = "{home}/status.sock"

[fuse]
mount = "{home}/files"

[volumes.backing]
kind = "file"
path = "backing"
size = "1GiB"

[volumes.nvme]
kind = "file"
path = "nvme"
size = "256MiB"

[volumes.data]
kind = "writeback"
backing = "backing"
cache = "nvme"
{cache}

[exports.data]
volume = "data"
"""


class Wrong(Exception):
    """Something acknowledged is missing, or something is damaged."""


def run(*command: str | Path, user: str | None = None, codes: Sequence[int] = (0,)) -> str:
    """Runs a program to its end; what it says."""
    words = [str(word) for word in command]
    if user is not None:
        words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd="/")
    if done.returncode not in codes:
        raise Wrong(f"{' '.join(words)}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout + done.stderr


class MountedVolume:
    """The volume, its daemon, the loop device and the file system; `cache` is more settings of the write-back cache."""

    def __init__(self, home: Path, file_system: str, cache: str = "") -> None:
        self.home, self.file_system, self.cache = home, file_system, cache
        self.settings = home / "fathomd.toml"
        self.configure()
        self.system = home / "system"
        self.system.mkdir()
        self._device = ""
        run(fathomd.program(), "--create", self.settings)
        self._daemon = fathomd.Serving.start(self.settings, home / "log")
        self._attach()
        make = {
            "ext4": ("mkfs.ext4", "-q", "-E", "nodiscard"),
            "xfs": ("mkfs.xfs", "-q", "-K"),
            "btrfs": ("mkfs.btrfs", "-q", "-K"),
        }
        run(*make[file_system], self._device)
        run("mount", self._device, self.system)

    def configure(self, more: str = "") -> None:
        """Writes the daemon's settings."""
        text = SETTINGS.format(home=self.home, cache=f"{self.cache}\n{more}")
        self.settings.write_text(text, encoding="utf-8")

    def _attach(self) -> None:
        self._device = run(
            "losetup", "--find", "--show", "--direct-io=on", "--sector-size=4096", self.home / "files" / "data"
        ).strip()

    def kill(self) -> None:
        """Ends the daemon as a crash would."""
        self._daemon.kill()

    def take_off(self) -> None:
        """The file system and the loop device, whose requests fail, go; nobody may use them any more."""
        until = time.monotonic() + PATIENCE_S
        # A server's children end a moment after it.
        while (said := run("umount", self.system, codes=range(256))) and time.monotonic() < until:
            time.sleep(0.1)
        if said:
            raise Wrong(f"cannot unmount: {said}")
        run("losetup", "--detach", self._device)

    def start(self) -> None:
        """A new daemon, and all that stands on it. A journal is replayed; damage beyond that is an error."""
        self._daemon = fathomd.Serving.start(self.settings, self.home / "log")
        self._attach()
        if self.file_system == "ext4":
            # 1: the journal was replayed.
            run("e2fsck", "-p", self._device, codes=(0, 1))
            run("e2fsck", "-fn", self._device)
        run("mount", self._device, self.system)
        if self.file_system == "btrfs":
            # So is its log of fsyncs.
            run("umount", self.system)
            run("btrfs", "check", "--readonly", self._device)
            run("mount", self._device, self.system)
        if self.file_system == "xfs":
            # The log is replayed by mounting; only then can the rest be judged.
            run("umount", self.system)
            run("xfs_repair", "-n", self._device)
            run("mount", self._device, self.system)

    def stop(self) -> None:
        """The planned end: everything is drained; the backing volume alone is complete."""
        self.take_off()
        self._daemon.stop()


def digest(number: int) -> str:
    """What row `number` holds: 200 to 4,000 characters that are known."""
    return hashlib.sha256(str(number).encode()).hexdigest() * (3 + number % 60)


WRITER = """
import hashlib, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA journal_mode = WAL"); database.execute("PRAGMA synchronous = FULL")
number = int(sys.argv[2])
while True:
    text = hashlib.sha256(str(number).encode()).hexdigest() * (3 + number % 60)
    database.execute("INSERT INTO ledger VALUES (?, ?)", (number, text))
    print(number, flush=True)
    number += 1
"""


class Sqlite:
    """One writer: a row per transaction, numbered without gaps, each told when SQLite has committed it."""

    name = "sqlite"

    def __init__(self, stand: MountedVolume) -> None:
        self._path = stand.system / "ledger.db"
        self._acknowledged = 0
        self._told = stand.home / "told"
        database = sqlite3.connect(self._path)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE ledger (number INTEGER PRIMARY KEY, text TEXT NOT NULL)")
        database.commit()
        database.close()
        self._writer: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Lets the writer write, and returns when it has written."""
        with self._told.open("wb") as told:
            command = [sys.executable, "-c", WRITER, str(self._path), str(self._acknowledged + 1)]
            self._writer = subprocess.Popen(command, stdout=told, stderr=subprocess.DEVNULL, cwd="/")
        until = time.monotonic() + PATIENCE_S
        while self._told.stat().st_size == 0 and time.monotonic() < until:
            time.sleep(0.005)

    def end(self) -> int:
        """After a kill: the writer has failed or is ended; transactions acknowledged since `begin`."""
        if self._writer is not None:
            self._writer.kill()
            self._writer.wait(PATIENCE_S)
        # A line without its end was not acknowledged.
        told = self._told.read_text(encoding="utf-8").rsplit("\n", 1)[0].split()
        before, self._acknowledged = self._acknowledged, int(told[-1]) if told else self._acknowledged
        return self._acknowledged - before

    def check(self) -> int:
        """Transactions that are there beyond those acknowledged.

        Raises:
            Wrong: one is missing or damaged.
        """
        database = sqlite3.connect(self._path)
        try:
            verdict = database.execute("PRAGMA integrity_check").fetchone()[0]
            rows = database.execute("SELECT number, text FROM ledger ORDER BY number").fetchall()
        finally:
            database.close()
        if verdict != "ok":
            raise Wrong(f"integrity_check: {verdict}")
        if [number for number, _ in rows] != list(range(1, len(rows) + 1)):
            raise Wrong("rows are missing in between")
        if len(rows) < self._acknowledged:
            raise Wrong(f"{self._acknowledged} rows were acknowledged, {len(rows)} are there")
        bad = [number for number, text in rows if text != digest(number)]
        if bad:
            raise Wrong(f"rows with other text: {bad[:10]}")
        beyond = len(rows) - self._acknowledged
        self._acknowledged = len(rows)
        return beyond

    def close(self) -> None:
        """Nothing runs between kills."""


class Cluster:
    """A PostgreSQL cluster with checksums on the file system."""

    name = "postgresql"

    def __init__(self, stand: MountedVolume) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        if not found:
            raise Wrong("PostgreSQL's server programs are not installed")
        self.programs = found[-1]
        self.data = stand.system / "data"
        self.run = stand.home / "run"
        self._server = 0
        for directory in (self.data, self.run):
            directory.mkdir(mode=0o700)
            shutil.chown(directory, "postgres", "postgres")
        self.program("initdb", "--data-checksums", "--no-locale", "-E", "UTF8", "-D", self.data)
        with (self.data / "postgresql.auto.conf").open("a", encoding="utf-8") as conf:
            conf.write(f"listen_addresses = ''\nunix_socket_directories = '{self.run}'\nshared_buffers = 32MB\n")
            conf.write("checkpoint_timeout = 30s\nmax_wal_size = 64MB\nmin_wal_size = 32MB\n")
            conf.flush()
            # Nobody else makes our lines durable.
            os.fsync(conf.fileno())
        self.start()
        self.program("psql", "-qc", "CREATE EXTENSION amcheck", *self.where())

    def where(self) -> list[str]:
        """How its programs find it."""
        return ["-h", str(self.run), "-U", "postgres", "postgres"]

    def program(self, name: str, *words: str | Path) -> str:
        """Runs one of its programs to its end; what it says."""
        return run(self.programs / name, *words, user="postgres")

    def number(self, question: str) -> int:
        """The one number that answers a question."""
        return int(self.program("psql", "-Atqc", question, *self.where()))

    def start(self) -> None:
        """Starts the server, which recovers; afterwards it answers."""
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        self.program("pg_ctl", "-w", "-t", "120", "-D", self.data, "-l", self.run / "log", "start")
        self._server = int((self.data / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])

    def kill(self, how: Sequence[tuple[signal.Signals, float]] = KINDLY) -> None:
        """Ends the server by signals, each with the seconds it may take; returns when it is gone."""
        children: list[str] = []
        with contextlib.suppress(FileNotFoundError):
            children = Path(f"/proc/{self._server}/task/{self._server}/children").read_text(encoding="utf-8").split()
        # Without a disk the server cannot stop kindly, and pg_ctl cannot find it.
        for number, patience_s in how:
            until = time.monotonic() + patience_s
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._server, number)
                # It removes its socket as the last thing, and must not remove its successor's.
                while time.monotonic() < until:
                    os.kill(self._server, 0)
                    time.sleep(0.02)
        for child in map(int, children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    def sound(self) -> None:
        """Every index and heap page is what it should be.

        Raises:
            Wrong: with what pg_amcheck says.
        """
        self.program("pg_amcheck", "--heapallindexed", "--parent-check", *self.where())

    def close(self) -> None:
        """Stops the server and has every page's checksum checked."""
        self.program("pg_ctl", "-w", "-m", "fast", "-D", self.data, "stop")
        self.program("pg_checksums", "--check", "-D", self.data)


class Postgresql(Cluster):
    """pgbench; its history table holds a row per transaction."""

    def __init__(self, stand: MountedVolume) -> None:
        super().__init__(stand)
        self._acknowledged = 0
        self.program("pgbench", "-q", "-i", "-s", "2", *self.where())
        self._bench: subprocess.Popen[str] | None = None

    def begin(self) -> None:
        """Lets pgbench run, and returns when it has begun."""
        where = self.where()
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", self.programs / "pgbench"]
        words = ["-n", "-c", str(CLIENTS), "-j", "1", "-T", "3600", *where]
        self._bench = subprocess.Popen(
            [*command, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/"
        )
        count = "SELECT count(*) FROM pgbench_history"
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and self.number(count) <= self._acknowledged:
            time.sleep(0.02)

    def end(self) -> int:
        """After a kill: the server has failed or is ended; transactions acknowledged since `begin`."""
        self.kill()
        if self._bench is None:
            return 0
        said, _ = self._bench.communicate(timeout=PATIENCE_S)
        found = re.search(r"transactions actually processed: (\d+)", said)
        if found is None:
            raise Wrong(f"pgbench did not count: {said[-2000:]}")
        self._acknowledged += int(found.group(1))
        return int(found.group(1))

    def check(self) -> int:
        """As for SQLite; beside the rows, indexes and heaps are checked, and that no transaction is there by halves."""
        self.start()
        self.sound()
        sums = [
            self.number(f"SELECT coalesce(sum({column}), 0) FROM pgbench_{table}")
            for column, table in (
                ("abalance", "accounts"), ("bbalance", "branches"), ("tbalance", "tellers"), ("delta", "history"),
            )
        ]  # fmt: skip
        if len(set(sums)) != 1:
            raise Wrong(f"the sums of accounts, branches, tellers and history differ: {sums}")
        there = self.number("SELECT count(*) FROM pgbench_history")
        if there < self._acknowledged:
            raise Wrong(f"{self._acknowledged} transactions were acknowledged, {there} are there")
        beyond = there - self._acknowledged
        if beyond > CLIENTS:
            raise Wrong(f"{beyond} transactions more than {CLIENTS} clients can have had on their way")
        self._acknowledged = there
        return beyond


DATABASES = {database.name: database for database in (Sqlite, Postgresql)}


def campaign(kind: str, file_system: str, kills: int, seed: int, tell: bool = False) -> dict[str, int | str]:
    """That many kills, each with all checks; what came of them.

    Raises:
        Wrong: with the kill's number and the seed.
    """
    chance = random.Random(seed)
    acknowledged = beyond = 0
    # Short, for sockets' paths; below it everything can be found and taken away.
    root = Path(tempfile.mkdtemp(prefix="fathom-kill-"))
    root.chmod(0o711)
    home = root / "stand"
    home.mkdir(mode=0o711)
    number = 0
    try:
        stand = MountedVolume(home, file_system)
        database = DATABASES[kind](stand)
        for number in range(1, kills + 1):
            database.begin()
            time.sleep(chance.uniform(0, 0.6))
            stand.kill()
            told = database.end()
            stand.take_off()
            stand.start()
            more = database.check()
            acknowledged, beyond = acknowledged + told, beyond + more
            if tell:
                print(f"kill {number}: {told} acknowledged, {more} more there", flush=True)
        database.close()
        stand.stop()
    except (Wrong, subprocess.TimeoutExpired) as problem:
        logs = [path for path in (home / "log", home / "run" / "log") if path.exists()]
        said = "\n".join(f"{path.relative_to(home)}:\n{path.read_text(errors='replace')[-3000:]}" for path in logs)
        raise Wrong(f"{kind} on {file_system}, kill {number}, seed {seed}: {problem}\n{said}") from None
    finally:
        leftovers.remove(root)
        shutil.rmtree(root, ignore_errors=True)
    return {
        "database": kind, "file_system": file_system, "seed": seed, "kills": kills,
        "acknowledged": acknowledged, "lost": 0, "beyond": beyond,
    }  # fmt: skip


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("database", choices=sorted(DATABASES))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--file-system", choices=("ext4", "xfs"), default="ext4")
    parser.add_argument("--seed", type=int, default=1, help="of the moments at which is killed")
    chosen = parser.parse_args()
    if os.geteuid() != 0:
        print("error: loop devices and mounts need root", file=sys.stderr)
        return 2
    try:
        done = campaign(chosen.database, chosen.file_system, chosen.kills, chosen.seed, tell=True)
    except Wrong as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    print(json.dumps(done))
    return 0


if __name__ == "__main__":
    sys.exit(main())
