"""Records the counters of this host at regular intervals, reading and writing as little as possible.

Files of /proc stay open and are read again from their start; their lines are written as they are, without partitions
and disks that never did anything. The reader is `diagnose/importers/record.py`.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from fathom.diagnose.linux import MEMORY, is_whole_disk
from fathom.diagnose.postgresql import VIEWS
from fathom.diagnose.recording import MARK, VERSION
from fathom.errors import FathomError

PROC = Path("/proc")
_PRESSURE = ("cpu", "io", "memory")
_PAGING = (b"pswpin ", b"pswpout ", b"pgmajfault ")


class RecordError(FathomError):
    """This host cannot be recorded, or the file cannot be written."""


def record(
    out: Path,
    interval_s: float,
    seconds: float | None,
    postgresql: str | None,
    note: Callable[[str], None] | None,
    proc: Path = PROC,
    stop: threading.Event | None = None,
) -> int:
    """Looks until the time is over or Ctrl-C; the number of looks.

    Args:
        out: a new file.
        interval_s: between looks; missed ones are not made up for.
        seconds: how long; None for ever.
        postgresql: connection for psql; None for none.
        note: told how to stop it; None for silence.
        proc: where procfs is mounted; another place in tests.
        stop: ends it when set; where it runs in a thread, to which no Ctrl-C comes.

    Raises:
        RecordError: no procfs, no psql, or the file exists or cannot be written.
    """
    if not (proc / "diskstats").exists():
        raise RecordError(
            f"{proc}/diskstats is not there: this is no Linux",
            "`fathom record --print windows|esxi` shows how others are recorded",
        )
    with ExitStack() as open_files:
        host = _Host(proc, open_files)
        server = None if postgresql is None else open_files.enter_context(psql(postgresql))
        try:
            file = open_files.enter_context(out.open("x", encoding="utf-8"))
        except OSError as problem:
            raise RecordError(f"{out}: cannot write: {problem.strerror}", "choose a new file") from None
        if note is not None:
            note(f"recording into {out}; Ctrl-C ends it")
        try:
            file.write(json.dumps({MARK: VERSION, "host": platform.node(), "facts": facts()}) + "\n")
            return _looks(file, host, server, interval_s, seconds, stop or threading.Event())
        except OSError as problem:
            remedy = "free some space; what was recorded is kept"
            raise RecordError(f"{out}: cannot write: {problem.strerror}", remedy) from None


def _looks(
    file: IO[str],
    host: _Host,
    server: _Psql | None,
    interval_s: float,
    seconds: float | None,
    stop: threading.Event,
) -> int:
    begun = time.monotonic()
    looks = 0
    with suppress(KeyboardInterrupt):
        while True:
            entry = host.look()
            if server is not None:
                entry["pg"] = server.look()
            file.write(json.dumps(entry, separators=(",", ":")) + "\n")
            file.flush()
            looks += 1
            elapsed = time.monotonic() - begun
            due = (int(elapsed / interval_s) + 1) * interval_s
            if seconds is not None and due > seconds + 1e-9:
                break
            if stop.wait(max(0.0, due - elapsed)):
                break
    return looks


class _Host:
    """The files of procfs, open."""

    def __init__(self, proc: Path, open_files: ExitStack) -> None:
        def opened(name: str) -> int | None:
            try:
                descriptor = os.open(proc / name, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return None
            open_files.callback(os.close, descriptor)
            return descriptor

        self._disks = opened("diskstats")
        self._stat = opened("stat")
        self._memory = opened("meminfo")
        self._paging = opened("vmstat")
        self._pressure = {name: opened(f"pressure/{name}") for name in _PRESSURE}
        self._known: dict[str, bool] = {}

    def look(self) -> dict[str, Any]:
        """All counters at one moment."""
        return {
            "t": time.time_ns(),
            "disk": self._disk_lines(),
            "cpu": _first_line(self._stat, 512),
            "mem": self._memory_lines(),
            "vm": self._paging_lines(),
            "psi": self._pressures(),
        }

    def _disk_lines(self) -> dict[str, str]:
        found = {}
        for line in _text(self._disks, 1 << 18).splitlines():
            cells = line.split(None, 3)
            if len(cells) < 4:
                continue
            name = cells[2]
            wanted = self._known.get(name)
            if wanted is None:
                wanted = self._known[name] = is_whole_disk(name)
            if wanted and not cells[3].startswith("0 0 0 0 0 0 0 0"):
                found[name] = cells[3]
        return found

    def _memory_lines(self) -> dict[str, int]:
        # The lines needed are at the top.
        found = {}
        for line in _text(self._memory, 1024).splitlines():
            name, _, rest = line.partition(":")
            if name in MEMORY:
                found[name] = int(rest.split()[0])
        return found

    def _paging_lines(self) -> dict[str, int]:
        data = _bytes(self._paging, 1 << 15)
        found = {}
        for name in _PAGING:
            place = data.find(b"\n" + name)
            if place >= 0:
                begin = place + 1 + len(name)
                found[name.decode().strip()] = int(data[begin : data.find(b"\n", begin)])
        return found

    def _pressures(self) -> dict[str, int]:
        found = {}
        for resource, descriptor in self._pressure.items():
            for kind, total in re.findall(r"(some|full) .*total=(\d+)", _text(descriptor, 512)):
                found[f"{resource}_{kind}"] = int(total)
        return found


def _bytes(descriptor: int | None, size: int) -> bytes:
    if descriptor is None:
        return b""
    try:
        return os.pread(descriptor, size, 0)
    except OSError:
        return b""


def _text(descriptor: int | None, size: int) -> str:
    return _bytes(descriptor, size).decode("utf-8", "replace")


def _first_line(descriptor: int | None, size: int) -> str:
    return _text(descriptor, size).partition("\n")[0]


def facts() -> list[tuple[str, str, str | None]]:
    """What does not change: system, processors, and each disk's geometry and queue, as facts of `diagnose/facts.py`."""
    from fathom.host.block import device_of

    found: list[tuple[str, str, str | None]] = [
        ("os", f"{platform.system()} {platform.release()}", None),
        ("cpus", str(os.cpu_count() or ""), None),
    ]
    for place in sorted(Path("/sys/block").glob("*")):
        if not is_whole_disk(place.name):
            continue
        with suppress(OSError):
            device = device_of((place / "dev").read_text(encoding="ascii").strip())
            # A loop device without a file has no size.
            if device is not None and device.size:
                named = {
                    "volume_bytes": device.size, "logical_sector_bytes": device.logical_sector,
                    "physical_sector_bytes": device.physical_sector, "queue_depth": device.queue_depth,
                    "queue_requests": device.requests, "scheduler": device.scheduler, "driver": device.driver,
                    "model": device.model, "members": ",".join(device.below) or None,
                    "rotational": None if device.rotational is None else "yes" if device.rotational else "no",
                }  # fmt: skip
                found += [(name, str(value), place.name) for name, value in named.items() if value is not None]
    return [fact for fact in found if fact[1]]


_QUERIES = {
    "pg_stat_io": "select * from pg_stat_io where reads > 0 or writes > 0 or fsyncs > 0",
    "pg_stat_wal": "select * from pg_stat_wal",
    "pg_stat_bgwriter": "select * from pg_stat_bgwriter",
    "pg_stat_checkpointer": "select * from pg_stat_checkpointer",
    "pg_stat_database": "select * from pg_stat_database where datname is not null",
    "pg_stat_activity": "select wait_event_type, wait_event, state, count(*) as sessions from pg_stat_activity "
    "where state = 'active' and pid <> pg_backend_pid() group by 1, 2, 3",
}


class _Psql:
    """One psql that stays connected and answers one line per look."""

    def __init__(self, process: subprocess.Popen[str], query: str) -> None:
        self._process = process
        self._query = query

    def look(self) -> dict[str, Any]:
        """Every view's rows; empty once the server has gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(self._query + "\n")
            self._process.stdin.flush()
            found = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def why(said: str) -> str:
    """What psql says of a connection that failed: a line for each address it tried, without the hints below them."""
    lines = [line for line in said.splitlines() if line.strip() and not line[0].isspace()]
    causes = dict.fromkeys(line.removeprefix("psql: ").removeprefix("error: ").strip() for line in lines)
    return "; ".join(causes) or "no answer"


@contextmanager
def psql(connection: str) -> Iterator[_Psql]:
    """psql, connected; password and host come from libpq's own settings.

    Raises:
        RecordError: psql is not installed, or the server refuses.
    """
    program = shutil.which("psql")
    if program is None:
        raise RecordError("psql is not installed", "install PostgreSQL's client, or leave --postgresql out")
    command = [program, "-X", "-q", "-A", "-t", "-w", "-v", "ON_ERROR_STOP=1", "-d", connection]
    asked = subprocess.run(
        [*command, "-c", "select string_agg(viewname, ',') from pg_views where schemaname = 'pg_catalog'"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if asked.returncode != 0:
        raise RecordError(f"psql: {why(asked.stderr)}", "try the same connection with psql; the role needs pg_monitor")
    there = [view for view in VIEWS if view in asked.stdout.strip().split(",")]
    parts = (f"'{view}', (select coalesce(json_agg(row_to_json(v)), '[]') from ({_QUERIES[view]}) v)" for view in there)
    query = f"select json_build_object({', '.join(parts)})::jsonb::text;"
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stderr, text=True, start_new_session=True
    )
    try:
        yield _Psql(process, query)
    finally:
        process.terminate()
        process.wait()
