"""Cleaning up undisturbed: Ctrl-C and SIGTERM wait until it is done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def ignoring_signals() -> Iterator[None]:
    """Ignores both within its context; in the main thread alone, which gets the signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [signal.signal(name, signal.SIG_IGN) for name in _SIGNALS]
    try:
        yield
    finally:
        for name, handler in zip(_SIGNALS, before, strict=True):
            signal.signal(name, handler)
