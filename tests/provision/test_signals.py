"""Ctrl-C and SIGTERM while something is cleaned up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from fathom.host.signals import deferring_signals


def _clean_up(number: signal.Signals, done: list[str]) -> None:
    with deferring_signals():
        os.kill(os.getpid(), number)
        subprocess.run([sys.executable, "-c", "import time; time.sleep(0.05)"], check=True)
        done.append("cleaned up")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_signal_is_put_off_and_not_forgotten(number: signal.Signals, elsewhere: bool) -> None:
    before = signal.signal(number, signal.default_int_handler)
    done: list[str] = []
    # A thread that does not block it may be told in the place of the main one.
    over = threading.Event()
    other = threading.Thread(target=over.wait, daemon=True)
    if elsewhere:
        other.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            _clean_up(number, done)
        assert done == ["cleaned up"]
        assert signal.getsignal(number) is signal.default_int_handler
        with deferring_signals():
            done.append("nothing came")
    finally:
        over.set()
        signal.signal(number, before)
    assert len(done) == 2


def test_a_program_that_cleans_up_is_not_told() -> None:
    ask = "import signal; print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
    with deferring_signals():
        told = subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, text=True)
    assert "SIGINT" in told.stdout
    assert "SIGTERM" in told.stdout
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & {signal.SIGINT, signal.SIGTERM}
