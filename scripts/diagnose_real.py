"""Bottlenecks made on this machine, recorded while they last and diagnosed: is the right cause first?

Disks are loop devices on sparse files. A limit of the blkio controller (cgroup v1) on the disk below applies to what
the loop driver sends for a process of the group, so the loop device shows a throttled volume's latency. Needs root,
fio, iostat (sysstat), and PostgreSQL's server programs for its two cases. Disks of other programs are not looked at,
but a machine that is busy otherwise may add the finding that its processors are busy. Usage:

    scripts/diagnose_real.py                     every case, some 25 s each
    scripts/diagnose_real.py --only idle --keep logs
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "python"))

from fathom.diagnose import log as reader  # noqa: E402 - the path comes first
from fathom.diagnose.diagnose import diagnose  # noqa: E402

BLKIO = Path("/sys/fs/cgroup/blkio")
POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
SIZE = 256 << 20


def run(*command: object, **options: object) -> str:
    """A command's output; its failure ends the case."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True, **options)  # type: ignore[call-overload]
    return str(done.stdout).strip()


class TestDisk:
    """A loop device, a control group, and the time a case may take; all is given back at the end."""

    def __init__(self, folder: Path, seconds: int, stack: ExitStack) -> None:
        self.folder, self.seconds, self.stack = folder, seconds, stack
        image = folder / "disk.img"
        image.write_bytes(b"")
        os.truncate(image, SIZE)
        self.device = run("losetup", "--direct-io=on", "-f", "--show", image)
        stack.callback(run, "losetup", "-d", self.device)
        # Blocks that exist: a hole is read without the disk below.
        run("dd", "if=/dev/zero", f"of={self.device}", "bs=1M", f"count={SIZE >> 20}", "oflag=direct")
        number = folder.stat().st_dev
        below = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
        whole = below.parent if (below / "partition").exists() else below
        self.below = (whole / "dev").read_text().strip()
        self.group = BLKIO / f"fathom-diagnose-{os.getpid()}"
        self.group.mkdir()
        stack.callback(self.group.rmdir)

    def limit(self, what: str, value: int) -> None:
        """`read_iops`, `write_iops`, `read_bps` or `write_bps`; 0 removes it."""
        (self.group / f"blkio.throttle.{what}_device").write_text(f"{self.below} {value}\n")

    def fio(self, *options: str, seconds: float, rw: str = "randread", size: str = "8k", depth: int = 1) -> None:
        """Requests to the loop device, from a process of the group."""
        command = ["fio", "--name=load", f"--filename={self.device}", "--direct=1", f"--rw={rw}", f"--bs={size}",
                   f"--iodepth={depth}", "--ioengine=libaio", f"--size={SIZE}", "--time_based",
                   f"--runtime={seconds:.0f}", *options]  # fmt: skip
        self.inside(command, seconds + 30)

    def inside(self, command: list[str], patience: float) -> None:
        """A command within the group."""
        join = lambda: (self.group / "cgroup.procs").write_text(str(os.getpid()))  # noqa: E731 - runs in the child
        subprocess.run(command, preexec_fn=join, check=True, capture_output=True, timeout=patience)

    def steps(self, depths: tuple[int, ...], **options: object) -> None:
        """The same load with more and more requests outstanding."""
        for depth in depths:
            self.fio(seconds=self.seconds / len(depths), depth=depth, **options)  # type: ignore[arg-type]


def idle(place: TestDisk) -> None:
    """Nothing at all."""
    time.sleep(place.seconds)


def light(place: TestDisk) -> None:
    """Few requests."""
    place.fio("--rate_iops=50", seconds=place.seconds)


def cached(place: TestDisk) -> None:
    """Many requests that the page cache answers."""
    run("losetup", "--direct-io=off", place.device)
    run("dd", f"if={place.device}", "of=/dev/null", "bs=1M")
    place.fio("--rate_iops=2000", seconds=place.seconds, depth=32)


def processors(place: TestDisk) -> None:
    """Every processor busy, few requests."""
    spin = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        place.fio("--rate_iops=20", seconds=place.seconds)
    finally:
        for each in spin:
            each.kill()
            each.wait()


def _limited(what: str, value: int, **options: object) -> Callable[[TestDisk], None]:
    def case(place: TestDisk) -> None:
        place.limit(what, value)
        place.steps((1, 2, 8, 16, 32), **options)

    return case


def stall(place: TestDisk) -> None:
    """A steady load, and twice for some seconds next to nothing gets through."""
    load = threading.Thread(target=place.fio, args=("--rate_iops=200",), kwargs={"seconds": place.seconds, "depth": 8})
    load.start()
    for _ in range(2):
        time.sleep(place.seconds / 4)
        place.limit("read_bps", 4096)
        time.sleep(place.seconds / 5)
        place.limit("read_bps", 0)
    load.join()


def fsyncs(place: TestDisk) -> None:
    """Writes, each with a flush."""
    place.fio("--fsync=1", seconds=place.seconds, rw="write", size="4k")


def _mounted(place: TestDisk) -> Path:
    run("mkfs.ext4", "-q", place.device)
    folder = place.folder / "mnt"
    folder.mkdir()
    run("mount", place.device, folder)
    place.stack.callback(run, "umount", folder)
    return folder


def sqlite_commits(place: TestDisk) -> None:
    """One transaction after the other."""
    base = sqlite3.connect(_mounted(place) / "db", isolation_level=None)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("PRAGMA synchronous = FULL")
    base.execute("CREATE TABLE t (v)")
    end = time.monotonic() + place.seconds
    while time.monotonic() < end:
        base.execute("INSERT INTO t VALUES (1)")
    base.close()


class Postgres:
    """A server of its own in a folder, reached by a socket in it."""

    def __init__(self, place: TestDisk, data: Path, *settings: str) -> None:
        shutil.chown(data, "postgres")
        data.chmod(0o700)
        self._bin, self.folder = POSTGRES[-1], data
        self.connection = f"host={data} dbname=postgres user=postgres"
        self._as(self._bin / "initdb", "-D", data / "pg", "-A", "trust", "-N")
        options = " ".join(
            ["-c listen_addresses=''", f"-c unix_socket_directories={data}", *(f"-c {s}" for s in settings)]
        )
        self._as(self._bin / "pg_ctl", "-D", data / "pg", "-w", "-l", data / "log", "-o", options, "start")
        place.stack.callback(self._as, self._bin / "pg_ctl", "-D", data / "pg", "-m", "immediate", "stop")

    def _as(self, *command: object) -> None:
        words = [str(word) for word in command]
        quiet = subprocess.DEVNULL
        subprocess.run(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *words], check=True,
                       stdout=quiet, stderr=quiet, cwd="/")  # fmt: skip

    def bench(self, statement: str, clients: int, seconds: int) -> None:
        """One statement again and again by so many sessions."""
        script = self.folder / "script.sql"
        script.write_text(statement)
        run(
            "psql",
            "-q",
            "-X",
            self.connection,
            "-c",
            "CREATE TABLE t AS SELECT g AS id, 0 AS v FROM generate_series(1, 9) g",
        )
        run("pgbench", "-n", "-c", clients, "-T", seconds, "-f", script, self.connection)


def locks(place: TestDisk) -> None:
    """Sessions that all want the same row."""
    folder = place.folder / "pg"
    folder.mkdir()
    place.folder.chmod(0o755)
    server = Postgres(place, folder, "synchronous_commit=off", "fsync=off")
    place.stack.callback(_look(place, server).send_signal, signal.SIGINT)
    server.bench("BEGIN; UPDATE t SET v = v + 1 WHERE id = 1; SELECT pg_sleep(0.01); COMMIT;", 12, place.seconds)


def postgres_commits(place: TestDisk) -> None:
    """Four sessions that commit single rows."""
    folder = _mounted(place) / "pg"
    folder.mkdir()
    place.folder.chmod(0o755)
    server = Postgres(place, folder, "track_wal_io_timing=on")
    _look(place, server)
    server.bench("INSERT INTO t VALUES (1, 1);", 4, place.seconds)


def _look(place: TestDisk, server: Postgres) -> subprocess.Popen[bytes]:
    """Records the server's views beside iostat."""
    command = [sys.executable, "-m", "fathom", "record", "-q", "--out", str(place.folder / "host.fathom"), "--seconds",
               str(place.seconds), "--postgresql", server.connection]  # fmt: skip
    child = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, stdout=subprocess.DEVNULL)
    place.stack.callback(child.wait, 30)
    return child


CASES: dict[str, tuple[str, Callable[[TestDisk], None]]] = {
    "idle": ("D25", idle),
    "light": ("D25", light),
    "cached": ("D25", cached),
    "processors": ("D25", processors),
    "locks": ("D25", locks),
    "500 reads/s": ("D5", _limited("read_iops", 500)),
    "3,000 reads/s": ("D5", _limited("read_iops", 3000, size="4k")),
    "500 writes/s": ("D5", _limited("write_iops", 500, rw="randwrite")),
    "25 MB/s": ("D5", _limited("read_bps", 25_000_000, size="64k")),
    "stall": ("D24", stall),
    "fsyncs": ("D10", fsyncs),
    "SQLite commits": ("D10", sqlite_commits),
    "PostgreSQL commits": ("D10", postgres_commits),
}
"""What is made: the rule that must come first, and how."""


def diagnosed(case: Callable[[TestDisk], None], seconds: int, keep: Path | None) -> str:
    """The rule that comes first."""
    folder = Path(tempfile.mkdtemp(prefix="fathom-diagnose-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        place = TestDisk(folder, seconds, stack)
        log = folder / "iostat.json"
        with log.open("w") as file:
            environment = {**os.environ, "S_TIME_FORMAT": "ISO"}
            words = ["iostat", "-xty", "-o", "JSON", place.device, "1"]
            iostat = subprocess.Popen(words, stdout=file, env=environment)
            try:
                case(place)
            finally:
                iostat.send_signal(signal.SIGINT)
                iostat.wait()
        logs = [log, *folder.glob("host.fathom")]
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            for path in logs:
                shutil.copy(path, keep)
        with reader.read(logs) as found:
            verdict = diagnose(found).verdict
            print(f"    {verdict.sentence}", flush=True)
            return verdict.rule or "cannot tell"


def main() -> int:
    """Runs the cases; 1 if one was judged wrongly or failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=20, help="length of each load")
    parser.add_argument("--only", choices=list(CASES), action="append", help="only this case; may be repeated")
    parser.add_argument("--keep", type=Path, help="folder for the logs, one folder per case")
    chosen = parser.parse_args()
    right = 0
    names = chosen.only or list(CASES)
    for name in names:
        wanted, case = CASES[name]
        try:
            first = diagnosed(case, chosen.seconds, chosen.keep and chosen.keep / name.replace("/", " per "))
        except (subprocess.SubprocessError, OSError) as error:
            detail = getattr(error, "stderr", None) or ""
            first = f"failed: {error} {str(detail).strip()[-300:]}"
        right += first == wanted
        print(f"{'right' if first == wanted else 'WRONG'}  {name}: {wanted} wanted, {first} first", flush=True)
    print(f"{right} of {len(names)} right")
    return 0 if right == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
