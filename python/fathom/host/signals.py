"""Ctrl-C and SIGTERM: cleaning up undisturbed, and an end also while nothing answers.

Python hears a signal between two of its own steps. While the engine waits for a server that does not answer there is
none, so a thread of its own hears the second one.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_HINT = "still waiting for what does not answer; Ctrl-C again ends it at once"
_APART_S, _HINT_S = 2.0, 10.0
"""A second signal sooner than this is part of the first; how long after the first it is told what a second one does."""


@contextmanager
def deferring_signals() -> Iterator[None]:
    """Puts both off until its end; in the main thread alone, which gets the signals.

    Programs that are started within are told neither: a terminal tells its whole group of a Ctrl-C, and would end them
    half-way.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    before = [signal.signal(name, lambda number, _frame: heard.append(number)) for name in _SIGNALS]
    # Another thread may be told instead, and then Python: the handler above is for that. Programs inherit the mask.
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        for name, handler in zip(_SIGNALS, before, strict=True):
            signal.signal(name, handler)
        if masked is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        if heard:
            signal.raise_signal(heard[-1])


def end_at_the_second(code: int) -> None:
    """From now on a second Ctrl-C or SIGTERM ends the process at once with this code, whatever it waits for.

    It leaves what a killed process leaves: servers end with it, and the next start
    removes the rest.
    """
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(heard, code), name="signals", daemon=True).start()


def _listen(heard: int, code: int) -> None:
    first: float | None = None
    while numbers := os.read(heard, 64):
        if not set(numbers) & set(_SIGNALS):
            continue
        now = time.monotonic()
        if first is None:
            first = now
            hint = threading.Timer(_HINT_S, _say, [_HINT])
            hint.daemon = True
            hint.start()
        elif now - first >= _APART_S:
            _say("ended at once; what is left is removed by the next start in the same place")
            os._exit(code)


def _say(text: str) -> None:
    sys.stderr.write(f"fathom: {text}\n")
    sys.stderr.flush()
