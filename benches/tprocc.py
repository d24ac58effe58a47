"""TPROC-C on PostgreSQL: processor seconds per 1,000 transactions of client and server, beside pgbench and sysbench.

A private server on a memory file system (the storage is taken out, so that what shows is the work of client and
server), with the settings of `SETTINGS`. Figures of HammerDB, taken with the same settings on a machine of the same
kind, are printed for comparison. CPU time is compared, not throughput: it changes little when others use the machine.

    python benches/tprocc.py [--warehouses 10] [--users 4] [--seconds 30] [--interface procedures|statements]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SETTINGS = {
    "shared_buffers": "3GB",
    "max_wal_size": "3GB",
    "checkpoint_timeout": "15min",
    "wal_buffers": "64MB",
    "listen_addresses": "",
    "fsync": "on",
}
HAMMERDB_CLIENT = 0.086
HAMMERDB_SERVER = (0.575, 0.611)
"""CPU s per 1,000 transactions: version 4.12, stored procedures, 4 and 8 virtual users."""

CLIENT_TO_REACH = 0.05
LOAD_TO_REACH = 0.4
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Server:
    """A running server: its process and where it answers."""

    process: int
    directory: Path

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
        command = ["psql", "-h", str(self.directory), "-U", "fathom", "-d", "postgres", "-Atc", text]
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
    command += [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(command, user=user, stdout=log, stderr=log, cwd="/")
    try:
        found = Server(process.pid, directory)
        for _ in range(600):
            ready = subprocess.run(["pg_isready", "-q", "-h", str(directory)], check=False)
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


def measured(program: list[str], on: Server) -> Cost:
    """Runs a client and counts the CPU seconds of both sides."""
    before, started = on.cpu(), time.monotonic()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(program, check=False, capture_output=True, text=True)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.monotonic() - started
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(program)}:\n{done.stderr}")
    client = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return Cost(client, on.cpu() - before, seconds, done.stdout)


def transactions(on: Server) -> int:
    return int(on.sql("SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database"))


def row(name: str, cost: Cost, count: float, note: str = "") -> None:
    thousand = count / 1000
    client, served = cost.client / thousand, cost.server / thousand
    print(f"{name:34} {client:8.3f} {served:8.3f} {60 * count / cost.seconds:12.0f}  {note}", flush=True)


def ours(program: Path, on: Server, options: argparse.Namespace) -> None:
    socket = on.directory / ".s.PGSQL.5432"
    keys = [f"warehouses={options.warehouses}", f"users={options.users}"]
    base = [str(program), "postgresql", str(socket), "fathom", "postgres", *keys]
    load = measured([*base, 'ramp="0s"', 'duration="1ms"'], on)
    each = options.warehouses
    print(f"load: client {load.client / each:.3f} CPU s per warehouse (to reach {LOAD_TO_REACH}), ", end="")
    print(f"server {load.server / each:.3f}; {60 * each / load.seconds:.1f} warehouses/min", flush=True)
    for interface in options.interface:
        for fidelity in ("hammerdb", "spec"):
            run = ['ramp="1s"', f'duration="{options.seconds}s"', f'interface="{interface}"', f'fidelity="{fidelity}"']
            # Checking the conditions costs the server as much as many transactions do: taken out.
            check = measured([*base, 'ramp="0s"', 'duration="1ms"'], on)
            before = transactions(on)
            cost = measured([*base, *run], on)
            count = transactions(on) - before
            facts = json.loads(cost.output)
            net = Cost(cost.client - check.client, cost.server - check.server, cost.seconds - check.seconds, "")
            note = f"{facts['nopm']:.0f} NOPM, p99 {facts['latency_p99_ms']:.2f} ms"
            row(f"fathom {interface}, {fidelity}", net, count, note)


def peers(on: Server, options: argparse.Namespace) -> None:
    on.sql("CREATE DATABASE peers")
    reach = ["-h", str(on.directory), "-U", "fathom"]
    if shutil.which("pgbench"):
        subprocess.run(["pgbench", *reach, "-i", "-q", "-s", "10", "peers"], check=True, capture_output=True)
        before = transactions(on)
        run = [
            "pgbench",
            *reach,
            "-M",
            "prepared",
            "-c",
            str(options.users),
            "-j",
            "2",
            "-T",
            str(options.seconds),
            "peers",
        ]
        cost = measured(run, on)
        row("pgbench, TPC-B-like", cost, transactions(on) - before, "another transaction: five small statements")
    if shutil.which("sysbench"):
        base = [
            "sysbench",
            "oltp_read_write",
            "--db-driver=pgsql",
            f"--pgsql-host={on.directory}",
            "--pgsql-user=fathom",
        ]
        base += ["--pgsql-db=peers", "--tables=4", "--table-size=100000", f"--threads={options.users}"]
        subprocess.run([*base, "prepare"], check=True, capture_output=True)
        before = transactions(on)
        cost = measured([*base, f"--time={options.seconds}", "run"], on)
        row("sysbench oltp_read_write", cost, transactions(on) - before, "another transaction: 20 statements")


def stopped(*_: object) -> None:
    """Ends by an exception, so that the server is stopped."""
    raise SystemExit(1)


def main() -> None:
    signal.signal(signal.SIGTERM, stopped)
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--warehouses", type=int, default=10)
    parser.add_argument("--users", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--interface", nargs="+", default=["procedures", "statements"])
    parser.add_argument("--profile", default="release", help="cargo's profile to build the client with")
    options = parser.parse_args()
    build = ["cargo", "build", "--profile", options.profile, "-p", "fathom-sql", "--example", "order_entry"]
    subprocess.run(build, check=True)
    program = Path("target") / options.profile / "examples" / "order_entry"
    print(f"load of the machine: {os.getloadavg()}")
    with server() as on:
        print(f"{'CPU s per 1,000 transactions':34} {'client':>8} {'server':>8} {'per minute':>12}")
        ours(program, on, options)
        peers(on, options)
    low, high = HAMMERDB_SERVER
    print(f"{'HammerDB 4.12, procedures (quoted)':34} {HAMMERDB_CLIENT:8.3f} {low:8.3f} to {high}")
    print(f"to reach: client {CLIENT_TO_REACH}, server no more than {high}; load of the machine: {os.getloadavg()}")


if __name__ == "__main__":
    main()
