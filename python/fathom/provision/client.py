"""A database's own interactive client, kept open: one statement in, its lines out. For samples, not for load."""

from __future__ import annotations

import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

_END = "fathom-end-of-answer"
_PATIENCE_S = 10.0
_MOST_SAID = 4096


class ClientError(Exception):
    """The client ended, or did not answer in time."""


class Client:
    """A client process; close it.

    Args:
        command: program and arguments.
        environment: variables beside the process's own; a password is among these, where no other user sees it.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        # A file and no pipe: nobody reads it before the end, and a full pipe would stop the client.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the client
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
                start_new_session=True, env={**os.environ, **(environment or {}), "LC_ALL": "C"},
            )  # fmt: skip
        except OSError:
            self._said.close()
            raise
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Of the client."""
        return self._process.pid

    def ask(self, sql: str) -> list[str]:
        """Lines of the answer to one statement (without its semicolon).

        Raises:
            ClientError: there is no answer.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{sql};\nSELECT '{_END}';\n".encode())
            self._process.stdin.flush()
        except OSError:
            raise ClientError(self._ended()) from None
        lines = []
        deadline = time.monotonic() + _PATIENCE_S
        while (line := self._line(deadline)) != _END:
            lines.append(line)
        return lines

    def close(self) -> None:
        """Ends it."""
        self._process.kill()
        # What was written for it may lie in the buffer still; nobody reads that any more.
        with suppress(OSError):
            self._process.communicate()
        self._said.close()

    def _ended(self) -> str:
        """That it ended, and the first of what it said: the cause comes before what follows from it."""
        self._process.wait(_PATIENCE_S)
        self._said.seek(0)
        said = [line.strip() for line in self._said.read(_MOST_SAID).decode(errors="replace").splitlines()]
        first = next((line for line in said if line), "")
        return f"the client ended ({first})" if first else "the client ended"

    def _line(self, deadline: float) -> str:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise ClientError("no answer in time")
                more = os.read(self._process.stdout.fileno(), 1 << 16)
                if not more:
                    raise ClientError(self._ended())
                self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace")
