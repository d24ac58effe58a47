"""A thread beside a run: samples everything twice a second, wait events more often, and notices when a server dies."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from fathom.observe.observer import Observer
from fathom.observe.sample import Observation
from fathom.provision.provide import Provided

LOOK_S = 0.5
"""Between observations; the counters cost about 2 ms of the server's time each."""
WAITS_S = 0.1
"""Between observations of what sessions wait for: more often, because each sees a moment only."""


class Watch:
    """Watches while its context lasts; `observations` and `waits` hold what was seen."""

    def __init__(self, around: Provided, scratch: Path) -> None:
        self._around = around
        self._observer = Observer(around, scratch)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._attend, name="watch", daemon=True)
        self.observations: list[Observation] = []
        self.waits: list[Observation] = []
        self.died: str | None = None

    @property
    def troubles(self) -> dict[str, str]:
        """Databases that could not be sampled to the end, and why."""
        return self._observer.troubles

    def __enter__(self) -> Self:
        self.observations.append(self._observer.observe())
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        try:
            if kind is None:
                self.observations.append(self._observer.observe())
        finally:
            self._observer.close()

    def _attend(self) -> None:
        due = time.monotonic() + LOOK_S
        while not self._ended.wait(WAITS_S):
            if self.died is None:
                self.died = self._around.died()
                if self.died is not None:
                    # A primary whose standby is gone answers no commit: its client is waiting for nothing.
                    self._around.end()
            self.waits.append(self._observer.waits())
            if time.monotonic() >= due:
                self.observations.append(self._observer.observe())
                due = time.monotonic() + LOOK_S
