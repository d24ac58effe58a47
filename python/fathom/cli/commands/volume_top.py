"""`fathom volume top`: a daemon's volumes live, layer by layer."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom.cli.command import Command, Daemon

if TYPE_CHECKING:
    from rich.console import Console


def top(
    daemon: Daemon,
    interval: Annotated[float, typer.Option("--interval", min=0.1, help="Seconds between two samples.")] = 1.0,
    count: Annotated[
        int | None, typer.Option("--count", min=1, help="Number of samples; until q or Ctrl-C if not given.")
    ] = None,
) -> None:
    """Watch IOPS, MB/s, latency and outstanding requests of every layer, and how full write-back caches are.

    With the settings file the volumes are shown as a tree. A wide terminal also shows percentiles, flushes and
    trends. `q` ends it. On a terminal that cannot move its cursor, samples are printed one below the other.
    """
    from fathom.cli.output import console
    from fathom.cli.top_view import View
    from fathom.host.fathomd import ask, status_socket, volumes_of

    socket = status_socket(daemon)
    view = View(volumes_of(daemon))
    before = ask(socket, "GET", "/status")
    screen = console()
    with _shown(screen, alone=count is None) as show, _keys() as quit_asked:
        while count is None or count > 0:
            if quit_asked(interval):
                return
            now = ask(socket, "GET", "/status")
            show(view.show(before, now, screen.width))
            before = now
            count = None if count is None else count - 1


@contextmanager
def _shown(screen: Console, *, alone: bool) -> Iterator[Callable[[Any], None]]:
    """How a look is shown: in place of the last one, on a screen of its own while somebody watches (`alone`)."""
    from rich.live import Live

    if not screen.is_terminal or screen.is_dumb_terminal:
        yield screen.print
        return
    with Live(console=screen, auto_refresh=False, screen=alone) as live:
        yield lambda look: live.update(look, refresh=True)


def _slept(seconds: float) -> bool:
    time.sleep(seconds)
    return False


@contextmanager
def _keys() -> Iterator[Callable[[float], bool]]:
    """Waits that many seconds, or until q is pressed; whether it was. The terminal is left as it was found."""
    try:
        import select
        import termios
        import tty

        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal) if os.isatty(terminal) else None
    except (ImportError, OSError, ValueError):
        # Windows, or no file behind standard input.
        before = None
    if before is None:
        yield _slept
        return

    def asked(seconds: float) -> bool:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if select.select([terminal], [], [], left)[0]:
                pressed = os.read(terminal, 1)
                if pressed in {b"q", b"Q", b""}:
                    return True
        return False

    try:
        tty.setcbreak(terminal)
        yield asked
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


COMMAND = Command(
    "volume top", 115, top, ("fathom volume top fathomd.toml", "fathom volume top fathomd.toml --interval 5")
)
