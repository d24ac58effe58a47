"""The volume daemon from outside: its program, its settings file, its status socket (docs/FATHOMD.md)."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fathom.errors import FathomError, UsageError

PROGRAM = "fathomd"
# A drain may take as long as the backing volumes need for what is dirty.
DRAIN_PATIENCE_S = 3600.0
PATIENCE_S = 10.0
PROBE_S = 2.0
"""While a drain goes on, whether the daemon still answers is asked so often."""
LARGEST_ANSWER = 64 << 20
ANSWERS: dict[str, dict[str, type]] = {
    "/status": {
        "version": str, "process": int, "phase": str, "uptime_ns": int, "socket": str, "clients": list,
        "exports": list, "writeback": list, "volumes": list,
    },
    "/drain": {"drained": bool},
    "/stop": {"stopping": bool},
}  # fmt: skip
"""What an answer of fathomd must have, and of which type."""
START_PATIENCE_S = 120.0


def program() -> str:
    """Path of the daemon's program: `$FATHOMD`, beside this Python, or on the path.

    Raises:
        UsageError: it is nowhere.
    """
    beside = Path(sys.executable).parent / PROGRAM
    found = os.environ.get("FATHOMD") or (str(beside) if beside.exists() else shutil.which(PROGRAM))
    if not found:
        raise UsageError(
            f"the program {PROGRAM} is not installed",
            f"set FATHOMD to its path, or build it: cargo build --release -p {PROGRAM}",
        )
    return found


def status_socket(place: Path) -> Path:
    """The status socket: `place` itself if it is one, otherwise what the settings file `place` says.

    Raises:
        UsageError: neither, or the settings name no status socket.
    """
    if place.is_socket():
        return place
    try:
        settings = tomllib.loads(place.read_text(encoding="utf-8"))
    except OSError as problem:
        raise UsageError(f"{place}: {problem.strerror}", "give a daemon's settings file or its status socket") from None
    except ValueError as problem:
        raise UsageError(f"{place}: {problem}", "`fathomd --check` shows the line") from None
    daemon = settings.get("daemon")
    path = daemon.get("status") if isinstance(daemon, dict) else None
    if not isinstance(path, str):
        raise UsageError(
            f"{place}: no `status` under [daemon]", 'add `status = "/run/fathomd/status.sock"` and restart it'
        )
    return place.parent / path


def volumes_of(place: Path) -> dict[str, Any] | None:
    """`[volumes.*]` of the settings file `place`; None if it is a socket, which knows no tables."""
    if place.is_socket():
        return None
    volumes = tomllib.loads(place.read_text(encoding="utf-8")).get("volumes", {})
    return {name: table for name, table in volumes.items() if isinstance(table, dict)}


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("fathomd", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connects to the socket instead of a host."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def ask(path: Path, method: str, what: str, timeout: float = PATIENCE_S) -> dict[str, Any]:
    """One request to the status socket; the answer's JSON.

    Args:
        path: the socket.
        method: GET or POST.
        what: `/status`, `/drain`, `/stop`.
        timeout: seconds.

    Raises:
        FathomError: there is no answer, or the daemon refuses.
    """
    return _ask(path, method, what, timeout, lambda _: None)


def drain(path: Path) -> None:
    """Waits until the backing volumes hold everything answered so far.

    That may take long: the daemon itself reports when no device completes anything, and is asked meanwhile whether it
    still answers.

    Raises:
        FathomError: a volume failed, nothing gets on, or the daemon does not answer.
    """

    def alive(waiting: socket.socket) -> None:
        while not select.select([waiting], [], [], PROBE_S)[0]:
            ask(path, "GET", "/status")

    _ask(path, "POST", "/drain", PATIENCE_S, alive)


def _ask(path: Path, method: str, what: str, timeout: float, wait: Callable[[socket.socket], None]) -> dict[str, Any]:
    connection = _UnixConnection(path, timeout)
    until = time.monotonic() + timeout
    try:
        connection.request(method, what)
        wait(connection.sock)
        until = max(until, time.monotonic() + PATIENCE_S)
        reply = connection.getresponse()
        answer = json.loads(_body(reply, until))
    except TimeoutError:
        raise FathomError(
            f"the daemon at {path} does not answer within {timeout:.0f} s",
            "is it stopped (SIGSTOP) or stuck? `systemctl status fathomd`",
        ) from None
    except (OSError, ValueError, http.client.HTTPException) as problem:
        raise FathomError(
            f"no answer from a daemon at {path}: {problem}", "is it running? `systemctl status fathomd`"
        ) from None
    finally:
        connection.close()
    if isinstance(answer, dict) and reply.status >= http.client.BAD_REQUEST:
        raise FathomError(f"the daemon at {path}: {answer.get('error', reply.reason)}", "its log says more")
    found: dict[str, Any] = answer if isinstance(answer, dict) else {}
    wrong = [key for key, kind in ANSWERS[what].items() if not isinstance(found.get(key), kind)]
    if wrong:
        raise FathomError(
            f"{path}: this is no fathomd: its answer to {what} lacks {', '.join(f'`{key}`' for key in wrong)}",
            "give the status socket of a daemon, `status` under [daemon] of its settings",
        )
    return found


def _body(reply: http.client.HTTPResponse, until: float) -> bytes:
    """The whole body; a sender that never ends it is no daemon."""
    body = b""
    while chunk := reply.read1(1 << 20):
        body += chunk
        if len(body) > LARGEST_ANSWER:
            raise ValueError(f"more than {LARGEST_ANSWER >> 20} MiB")
        if time.monotonic() > until:
            raise TimeoutError
    return body


class Ready:
    """Waits until a daemon reports that it serves everything configured: sockets, files, devices.

    By sd_notify, as for a service manager: the daemon's own report, not a probe from outside.
    """

    def __init__(self) -> None:
        self._told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = f"fathom-{os.getpid()}-{time.monotonic_ns()}"
        self._told.bind(f"\0{name}")
        self._heard = False
        self.environment = {"NOTIFY_SOCKET": f"@{name}"}
        """What the daemon's environment needs."""

    def __enter__(self) -> Ready:
        return self

    def __exit__(self, *_: object) -> None:
        self._told.close()

    def heard(self, patience_s: float = 0.0) -> bool:
        """Whether it has said so, waiting for its next word that many seconds."""
        self._told.settimeout(patience_s)
        with contextlib.suppress(TimeoutError, BlockingIOError):
            while not self._heard:
                self._heard = b"READY=1" in self._told.recv(4096)
        return self._heard


class Serving:
    """A daemon that was started here and serves; killed at the end of `with` if it still runs."""

    def __init__(self, running: subprocess.Popen[bytes], log: Path) -> None:
        self._running = running
        self.log = log

    @classmethod
    def start(cls, settings: Path, log: Path, patience_s: float = START_PATIENCE_S) -> Serving:
        """Starts a daemon and returns when it serves everything configured: sockets, files, devices.

        Args:
            settings: its settings file; relative paths in it begin in that file's directory.
            log: what it says is added to this file.
            patience_s: how long it may take, in seconds: a cache is replayed meanwhile.

        Raises:
            FathomError: it ended instead, or takes too long.
            UsageError: it is not installed.
        """
        with Ready() as ready, log.open("ab") as output:
            running = subprocess.Popen(
                [program(), str(settings)], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                cwd=settings.parent, env={**os.environ, **ready.environment}, start_new_session=True,
            )  # fmt: skip
            until = time.monotonic() + patience_s
            while time.monotonic() < until and running.poll() is None:
                if ready.heard(0.1):
                    return cls(running, log)
        ended = running.poll()
        running.kill()
        running.wait()
        words = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        what = f"it takes more than {patience_s:.0f} s" if ended is None else f"it ended with {ended}"
        raise FathomError(f"{PROGRAM} does not serve {settings}: {what}; {' '.join(words)}", f"see {log}")

    def __enter__(self) -> Serving:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """The process."""
        return self._running.pid

    def kill(self) -> None:
        """Ends it as a crash would, and waits until the process is gone."""
        self._running.kill()
        self._running.wait()

    def stop(self, patience_s: float = DRAIN_PATIENCE_S) -> None:
        """Asks it to stop and waits until everything is durable.

        Raises:
            FathomError: not everything is durable.
        """
        self._running.terminate()
        ended = self._running.wait(patience_s)
        if ended != 0:
            raise FathomError(f"{PROGRAM} ended with {ended}: not everything may be durable", f"see {self.log}")
