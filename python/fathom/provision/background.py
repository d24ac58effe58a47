"""Background jobs, repeated until the workload ends: the database's own backup or check, or a command."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from fathom.provision.failure import ProvisionError
from fathom.provision.host import Host, inherited, words
from fathom.provision.said import cause
from fathom.provision.server import Server

_PIECE = 1 << 20
_KINDLY_S = 10.0


def command(host: Host, server: Server) -> list[str] | None:
    """The job of a database as one types it; None for one without.

    Raises:
        ProvisionError: its program is missing, or there is no such job for this kind of database.
    """
    from fathom.provision.database import kinds

    database = server.database
    if database.background == "none":
        return None
    if database.background == "command":
        return list(database.background_command or ())
    made = kinds()[database.kind].background
    if made is None:
        raise ProvisionError(
            "settings",
            f"databases.{database.name}.background: {database.kind} has no {database.background} of its own that "
            'could run beside a workload; say how with background = "command"',
        )
    return made(host, server)


class Job:
    """Runs a command again and again in a thread while its context lasts.

    Attributes:
        finished: seconds of every run that finished.
        bytes: that those runs wrote to their standard output.
        failed: what a run that failed said; no further one is begun.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)
        self.finished: list[float] = []
        self.bytes = 0
        self.failed: str | None = None
        self._ended = threading.Event()
        self._running: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._attend, name="background", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        with self._lock:
            self._signal(signal.SIGTERM)
        self._thread.join(_KINDLY_S)
        if self._thread.is_alive():
            self._signal(signal.SIGKILL)
            self._thread.join()

    def _signal(self, number: signal.Signals) -> None:
        """To the job and all that it has started."""
        if self._running is not None and self._running.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._running.pid, number)

    def metrics(self) -> dict[str, float | None]:
        """How many finished, how long one took, and how much of its output passed per second."""
        seconds = sum(self.finished)
        return {
            "background_jobs": float(len(self.finished)),
            "background_job_s": seconds / len(self.finished) if self.finished else None,
            "background_mb_per_s": self.bytes / 1e6 / seconds if seconds and self.bytes else None,
        }

    def _attend(self) -> None:
        while not self._ended.is_set() and self.failed is None:
            began = time.monotonic()
            try:
                moved = self._once()
            except OSError as problem:
                self.failed = f"`{self.command[0]}`: {problem.strerror}"
                return
            if moved is not None:
                self.finished.append(time.monotonic() - began)
                self.bytes += moved

    def _once(self) -> int | None:
        """Bytes of its output; None if it was ended or failed."""
        with tempfile.TemporaryFile() as said:
            with self._lock:
                if self._ended.is_set():
                    return None
                self._running = subprocess.Popen(
                    self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said,
                    start_new_session=True, env=inherited(),
                )  # fmt: skip
            assert self._running.stdout is not None
            moved = 0
            with self._running.stdout as output:
                while piece := os.read(output.fileno(), _PIECE):
                    moved += len(piece)
            code = self._running.wait()
            if code == 0:
                return moved
            if not self._ended.is_set():
                said.seek(0)
                self.failed = f"`{words(self.command)}` failed: {cause(said.read().decode(errors='replace')) or code}"
        return None
