"""`fathom volume check`: a daemon's settings, before it is started or restarted with them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.command import Command

Settings = Annotated[Path, typer.Argument(metavar="SETTINGS", help="A daemon's settings file.", show_default=False)]


def check(settings: Settings) -> None:
    """Check a settings file: every mistake with its line. Opens nothing, so a running daemon does not mind."""
    from fathom.host.fathomd import program

    done = subprocess.run([program(), "--check", str(settings)], check=False)
    raise typer.Exit(done.returncode)


COMMAND = Command("volume check", 114, check, ("fathom volume check /etc/fathom/fathomd.toml",))
