"""A server in the background: started apart from our terminal, stopped gently, then forcibly; never left behind."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fathom.host import leftovers
from fathom.provision.said import naming

_KINDLY_S = 120.0
"""A checkpoint on a slow volume takes its time; what is still running then gets a harder signal."""
_FIRMLY_S = 10.0


class Process:
    """A server, or in a dry run the words for one."""

    def __init__(
        self,
        running: subprocess.Popen[bytes] | None,
        directory: Path,
        log: Path,
        stop: Sequence[str],
        note: Callable[[], None],
    ) -> None:
        self._running = running
        self._directory = directory
        self.log = log
        self._stop = stop
        self._note = note

    @classmethod
    def start(
        cls, command: Sequence[str], log: Path, directory: Path, stop: Sequence[str], environment: Mapping[str, str]
    ) -> Process:
        """Starts it in a session of its own: Ctrl-C reaches us alone, and we stop it.

        Raises:
            OSError: it cannot be started.
        """
        with log.open("ab") as output:
            running = subprocess.Popen(
                command, cwd=directory, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True, env=dict(environment),
            )  # fmt: skip
        return cls(running, directory, log, stop, lambda: None)

    @classmethod
    def recorded(cls, log: Path, note: Callable[[], None]) -> Process:
        """One that was not started; `note` is called when it would be stopped."""
        return cls(None, log.parent, log, (), note)

    @property
    def pid(self) -> int | None:
        """Of the server; None in a dry run."""
        return None if self._running is None else self._running.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs, and in a dry run."""
        return None if self._running is None else self._running.poll()

    def kill(self) -> None:
        """Ends it at once; `stop` is still to be called."""
        if self._running is not None and self._running.poll() is None:
            self._running.kill()

    def stop(self) -> None:
        """Stops it and all its children; returns when they are gone."""
        self._note()
        if self._running is None:
            return
        for index, name in enumerate(self._stop):
            if self._running.poll() is not None:
                break
            self._running.send_signal(getattr(signal, f"SIG{name}"))
            try:
                self._running.wait(_KINDLY_S if index == 0 else _FIRMLY_S)
            except subprocess.TimeoutExpired:
                continue
        if self._running.poll() is None:
            self._running.kill()
        self._running.wait()
        leftovers.end_in(self._directory)

    def everything(self) -> str:
        """The end of its log, at most 64 KiB."""
        try:
            return self.log.read_text(encoding="utf-8", errors="replace")[-65536:]
        except OSError:
            return ""

    def last_words(self, count: int = 3) -> str:
        """The last lines of its log that say something, in one line."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "it left no log"
        kept = (naming(text) or [line.strip() for line in text.splitlines() if line.strip()])[-count:]
        return "; ".join(kept) or "its log is empty"
