"""`fathom volume top`: a daemon's volumes live, layer by layer."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.command import Command

Place = Annotated[
    Path, typer.Argument(metavar="DAEMON", help="Its settings file, or its status socket.", show_default=False)
]


def top(
    daemon: Place,
    interval: Annotated[float, typer.Option("--interval", min=0.1, help="Seconds between two looks.")] = 1.0,
    count: Annotated[int | None, typer.Option("--count", min=1, help="Looks; until Ctrl-C if not given.")] = None,
) -> None:
    """Watch IOPS, MB/s, latency and outstanding requests of every layer, and how full write-back caches are.

    With the settings file the volumes stand as a tree; a wide terminal also shows percentiles, flushes and trends.
    """
    from rich.live import Live

    from fathom.cli.output import console
    from fathom.cli.top_view import View
    from fathom.host.fathomd import ask, status_socket, volumes_of

    socket = status_socket(daemon)
    view = View(volumes_of(daemon))
    before = ask(socket, "GET", "/status")
    screen = console()
    # A screen of its own while somebody watches; with a count the last look stays for a log to keep.
    with Live(console=screen, auto_refresh=False, screen=screen.is_terminal and count is None) as live:
        while count is None or count > 0:
            time.sleep(interval)
            now = ask(socket, "GET", "/status")
            live.update(view.show(before, now, screen.width), refresh=True)
            before = now
            count = None if count is None else count - 1


COMMAND = Command(
    "volume top", 115, top, ("fathom volume top fathomd.toml", "fathom volume top fathomd.toml --interval 5")
)
