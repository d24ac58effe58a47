"""The volume daemon from outside: its program, its settings file, its status socket (docs/FATHOMD.md)."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import sys
import tomllib
from pathlib import Path
from typing import Any

from fathom.errors import FathomError, UsageError

PROGRAM = "fathomd"
# A drain may take as long as the backing volumes need for what is dirty.
DRAIN_PATIENCE_S = 3600.0
PATIENCE_S = 10.0


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
    return Path(path)


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
        FathomError: nobody answers, or the daemon says no.
    """
    connection = _UnixConnection(path, timeout)
    try:
        connection.request(method, what)
        reply = connection.getresponse()
        answer = json.loads(reply.read())
    except (OSError, ValueError, http.client.HTTPException) as problem:
        raise FathomError(
            f"no answer from a daemon at {path}: {problem}", "is it running? `systemctl status fathomd`"
        ) from None
    finally:
        connection.close()
    if not isinstance(answer, dict):
        raise FathomError(f"{path}: not what fathomd answers")
    if reply.status >= http.client.BAD_REQUEST:
        raise FathomError(f"the daemon at {path}: {answer.get('error', reply.reason)}", "its log says more")
    return answer
