"""Waiting for a server to answer: as long as it runs and makes progress."""

from __future__ import annotations

import time
from collections.abc import Callable

from fathom.provision.failure import ProvisionError, reason_of
from fathom.provision.process import Process

PATIENCE_S = 300.0
"""Recovery after a restore, on a slow volume, on a busy machine."""
_STEP_S = 0.02


def until(answers: Callable[[], bool], process: Process, what: str) -> None:
    """Returns once the server answers.

    Args:
        answers: whether it does.
        process: the server.
        what: which server, for messages.

    Raises:
        ProvisionError: it ended, or did not answer in time.
    """
    if process.pid is None:
        return
    deadline = time.monotonic() + PATIENCE_S
    while not answers():
        if process.exit_code is not None:
            said = process.last_words()
            raise ProvisionError(reason_of(process.everything()), f"{what} did not start: {said}")
        if time.monotonic() > deadline:
            raise ProvisionError(
                "unavailable", f"{what} does not answer after {PATIENCE_S:.0f} s: {process.last_words()}"
            )
        time.sleep(_STEP_S)
