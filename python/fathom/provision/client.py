"""A database's own interactive client, kept open: one statement in, its lines out. For samples, not for load."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

_END = "fathom-end-of-answer"
_PATIENCE_S = 10.0


class ClientError(Exception):
    """The client ended, or did not answer in time."""


class Client:
    """A client process; close it."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
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
        except OSError as problem:
            raise ClientError(str(problem)) from None
        lines = []
        deadline = time.monotonic() + _PATIENCE_S
        while (line := self._line(deadline)) != _END:
            lines.append(line)
        return lines

    def close(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.communicate()

    def _line(self, deadline: float) -> str:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise ClientError("no answer in time")
                more = os.read(self._process.stdout.fileno(), 1 << 16)
                if not more:
                    raise ClientError("the client ended")
                self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace")
