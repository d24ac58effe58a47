"""PostgreSQL's pgbench on a volume of fathomd (FUSE, loop device, ext4) and on the local file system below it.

What counts is transactions per second, side by side in interleaved rounds: each place once, then all again. The volume
is a file on that same local file system, so that the difference is the way through FUSE and the loop device. The file
is written once before, as a disk is: a file system below that still hands out blocks would be measured otherwise. FUSE
over io_uring is measured too where the kernel has it; it is switched on for it and put back.

    benches/pgbench_on_fuse.py --fathomd target/release/fathomd [--seconds 10] [--rounds 3] [--json FILE]

Needs root, PostgreSQL's server programs, and e2fsprogs. Ends with code 1 if the bar is missed: transactions per second
no fewer than on the local file system.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common import Table, cpu_seconds, ways_to_fuse

from fathom.host import fathomd, leftovers

SCALE = 10
CLIENTS = (1, 4)
SECTOR = 4096


def run(*command: str | Path, user: str | None = None) -> str:
    """Runs a program to its end; what it says."""
    words = [str(word) for word in command]
    if user is not None:
        words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", *words]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd="/")
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(words)}: {done.stderr[-2000:]}")
    return done.stdout


@contextmanager
def served(home: Path, io_uring: bool) -> Iterator[tuple[Path, int]]:
    """A file system on a loop device on a file of fathomd's: where it is mounted, and the daemon's process."""
    system = home / "system"
    system.mkdir()
    settings = home / "fathomd.toml"
    settings.write_text(
        f'[daemon]\nsocket = "{home}/nbd.sock"\n[fuse]\nmount = "{home}/files"\nio_uring = {str(io_uring).lower()}\n'
        '[volumes.disk]\nkind = "file"\npath = "image"\nsize = "2GiB"\nallocation = "written"\n'
        '[exports.disk]\nvolume = "disk"\n',
        encoding="utf-8",
    )
    run(fathomd.program(), "--create", settings)
    daemon = fathomd.Serving.start(settings, home / "log")
    device = run(
        "losetup", "--find", "--show", "--direct-io=on", f"--sector-size={SECTOR}", home / "files/disk"
    ).strip()
    # Nothing is to be zeroed later, while it is measured.
    run("mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", device)
    run("mount", device, system)
    try:
        yield system, daemon.pid
    finally:
        run("umount", system)
        run("losetup", "--detach", device)
        daemon.stop()


def pgbench(place: Path, sockets: Path, seconds: float) -> Iterator[tuple[int, float]]:
    """Clients and transactions per second on a cluster that is made at a place."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    data, where = place / "data", ["-h", str(sockets), "-U", "postgres", "postgres"]
    data.mkdir(mode=0o700)
    shutil.chown(data, "postgres", "postgres")
    run(programs / "initdb", "--no-locale", "-E", "UTF8", "-D", data, user="postgres")
    options = f"-c listen_addresses= -c unix_socket_directories={sockets} -c shared_buffers=64MB"
    control = [programs / "pg_ctl", "-w", "-D", data, "-l", sockets / "log"]
    run(*control, "-o", options, "start", user="postgres")
    try:
        run(programs / "pgbench", "-q", "-i", "-s", str(SCALE), *where, user="postgres")
        for clients in CLIENTS:
            said = run(
                programs / "pgbench", "-n", "-c", str(clients), "-j", "1", "-T", str(int(seconds)), *where,
                user="postgres",
            )  # fmt: skip
            found = re.search(r"tps = ([0-9.]+)", said)
            if found is None:
                raise SystemExit(f"error: pgbench did not count: {said}")
            yield clients, float(found.group(1))
    finally:
        run(*control, "-m", "fast", "stop", user="postgres")


def measure(way: str, below: Path, seconds: float) -> Iterator[dict[str, object]]:
    """One round of one place."""
    home = Path(tempfile.mkdtemp(prefix="fathom-bench-", dir=below))
    sockets = Path(tempfile.mkdtemp(prefix="fathom-pg-"))
    home.chmod(0o755)
    shutil.chown(sockets, "postgres", "postgres")
    try:
        if way == "local":
            for clients, tps in pgbench(home, sockets, seconds):
                yield {"way": way, "clients": clients, "tps": tps, "daemon_cpu_ms_per_transaction": None}
            return
        with served(home, way == "io_uring") as (system, pid):
            before = cpu_seconds(pid)
            for clients, tps in pgbench(system, sockets, seconds):
                spent, before = cpu_seconds(pid) - before, cpu_seconds(pid)
                cost = spent * 1000 / (tps * seconds)
                yield {"way": way, "clients": clients, "tps": tps, "daemon_cpu_ms_per_transaction": cost}
    finally:
        leftovers.remove(home)
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(sockets, ignore_errors=True)


def main() -> int:
    """Measures and prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fathomd", default="target/release/fathomd")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--below", type=Path, default=Path("/var/tmp"), help="a directory on the local file system")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("error: loop devices and mounts need root", file=sys.stderr)
        return 2
    os.environ["FATHOMD"] = str(Path(arguments.fathomd).resolve())
    samples: list[dict[str, object]] = []
    with ways_to_fuse() as ways:
        table = Table("clients", "place", "transactions per s", "of local", "daemon's CPU ms", "to reach", "met")
        for _ in range(arguments.rounds):
            for way in ["local", *ways]:
                samples += measure(way, arguments.below, arguments.seconds)

    def median(way: str, clients: int, what: str) -> float:
        chosen = [s[what] for s in samples if (s["way"], s["clients"]) == (way, clients)]
        return statistics.median(float(str(value)) for value in chosen)

    for clients in CLIENTS:
        local = median("local", clients, "tps")
        table.row(str(clients), "local file system", f"{local:,.0f}", "", "")
        for way in ways:
            tps, cost = median(way, clients, "tps"), median(way, clients, "daemon_cpu_ms_per_transaction")
            cells = f"FUSE by {way}", f"{tps:,.0f}", f"{tps / local:.2f}", f"{cost:.3f}"
            table.row(str(clients), *cells, bar="at least 1", met=tps >= local)
    return table.finish(samples, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
