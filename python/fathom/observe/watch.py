"""A thread beside a run: looks at everything twice a second, at waits more often, and notices a server's death."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from fathom.observe.looker import Looker
from fathom.observe.sample import Look
from fathom.provision.provide import Provided

LOOK_S = 0.5
"""Between looks; the counters cost about 2 ms of the server's time each."""
WAITS_S = 0.1
"""Between looks at what sessions wait for: more often, because each look sees a moment only."""


class Watch:
    """Watches while its context lasts; `looks` and `waits` hold what was seen."""

    def __init__(self, around: Provided, scratch: Path) -> None:
        self._around = around
        self._looker = Looker(around, scratch)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._attend, name="watch", daemon=True)
        self.looks: list[Look] = []
        self.waits: list[Look] = []
        self.died: str | None = None

    @property
    def troubles(self) -> dict[str, str]:
        """Databases that could not be sampled to the end, and why."""
        return self._looker.troubles

    def __enter__(self) -> Self:
        self.looks.append(self._looker.look())
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        try:
            if kind is None:
                self.looks.append(self._looker.look())
        finally:
            self._looker.close()

    def _attend(self) -> None:
        due = time.monotonic() + LOOK_S
        while not self._ended.wait(WAITS_S):
            if self.died is None:
                self.died = self._around.died()
                if self.died is not None:
                    # A primary whose standby is gone answers no commit: its client is waiting for nothing.
                    self._around.end()
            self.waits.append(self._looker.waits())
            if time.monotonic() >= due:
                self.looks.append(self._looker.look())
                due = time.monotonic() + LOOK_S
