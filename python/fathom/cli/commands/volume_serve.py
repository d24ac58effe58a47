"""`fathom volume serve`: the daemon in the foreground."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.command import Command

Settings = Annotated[Path, typer.Argument(metavar="SETTINGS", help="A daemon's settings file.", show_default=False)]


def serve(settings: Settings) -> None:
    """Serve the exports of a settings file (NBD, FUSE, ublk) until Ctrl-C, which drains.

    The same as running `fathomd SETTINGS`. For a permanent service, see packaging/systemd.
    """
    from fathom.host.fathomd import program

    path = program()
    os.execv(path, [path, str(settings)])


COMMAND = Command("volume serve", 111, serve, ("fathom volume serve fathomd.toml",))
