"""The private PostgreSQL server of benches/tprocc.py, on a memory file system, and what a run costs both sides."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SETTINGS = {
    "shared_buffers": "3GB",
    "max_wal_size": "3GB",
    "checkpoint_timeout": "15min",
    "wal_buffers": "64MB",
    "listen_addresses": "127.0.0.1",
    "fsync": "on",
}
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Server:
    """A running server: its process and where it answers."""

    process: int
    directory: Path
    port: int

    def cpu(self) -> float:
        """CPU seconds of the server so far: of the postmaster, its ended children, and those that live."""
        # A backend that has just ended is counted once its parent has seen it.
        time.sleep(1.5)
        ticks = sum(stat(self.process)[:4])
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and parent(int(entry.name)) == self.process:
                ticks += sum(stat(int(entry.name))[:2])
        return ticks / TICKS

    def sql(self, text: str) -> str:
        """The one value that a statement answers."""
        command = ["psql", "-h", str(self.directory), "-p", str(self.port), "-U", "fathom"]
        command += ["-d", "postgres", "-Atc", text]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def fields(process: int) -> list[str]:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def stat(process: int) -> list[int]:
    """utime, stime, cutime and cstime in ticks; zeros if the process has ended."""
    found = fields(process)
    return [int(ticks) for ticks in found[11:15]] if found else [0, 0, 0, 0]


def parent(process: int) -> int | None:
    found = fields(process)
    return int(found[1]) if found else None


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@contextmanager
def server() -> Iterator[Server]:
    """A server in memory, stopped and removed at the end."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
    directory = Path(tempfile.mkdtemp(prefix="fathom-tprocc-", dir="/dev/shm"))
    user = "postgres" if os.geteuid() == 0 else None
    if user:
        shutil.chown(directory, user, user)
    data = directory / "data"
    initdb = [str(programs / "initdb"), "-D", str(data), "-U", "fathom", "-A", "trust", "-E", "UTF8"]
    initdb += ["--locale=C", "-k", "-N"]
    subprocess.run(initdb, check=True, user=user, capture_output=True, cwd="/")
    command = [str(programs / "postgres"), "-D", str(data), "-k", str(directory)]
    port = free_port()
    settings = {**SETTINGS, "port": port}
    command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(command, user=user, stdout=log, stderr=log, cwd="/")
    try:
        found = Server(process.pid, directory, port)
        for _ in range(600):
            ready = subprocess.run(["pg_isready", "-q", "-h", str(directory), "-p", str(port)], check=False)
            if ready.returncode == 0:
                break
            time.sleep(0.1)
        yield found
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
        shutil.rmtree(directory)


@dataclass(frozen=True)
class Cost:
    """What one program run has cost."""

    client: float
    server: float
    seconds: float
    output: str


def measured(program: list[str], on: Server, **how: Any) -> Cost:
    """Runs a client, `how` as `subprocess.run` takes it, and counts the CPU seconds of both sides."""
    before, started = on.cpu(), time.monotonic()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(program, check=False, capture_output=True, text=True, **how)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.monotonic() - started
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(program)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr}")
    client = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return Cost(client, on.cpu() - before, seconds, done.stdout)


def transactions(on: Server) -> int:
    return int(on.sql("SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database"))
