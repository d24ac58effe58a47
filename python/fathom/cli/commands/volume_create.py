"""`fathom volume create`: what a settings file describes, made before it is served for the first time."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.command import Command

Settings = Annotated[Path, typer.Argument(metavar="SETTINGS", help="A daemon's settings file.", show_default=False)]


def create(settings: Settings) -> None:
    """Create the volumes of a settings file: missing files, superblocks of caches.

    Opens everything once and closes it cleanly, so that a mistake shows before a database depends on it. Leaves
    existing files and caches as they are.
    """
    from fathom.cli.output import note
    from fathom.host.fathomd import program

    done = subprocess.run([program(), "--create", str(settings)], check=False)
    if done.returncode == 0:
        note(f"the volumes of {settings} are made; serve them with: fathom volume serve {shlex.quote(str(settings))}")
    raise typer.Exit(done.returncode)


COMMAND = Command("volume create", 110, create, ("fathom volume create /etc/fathom/fathomd.toml",))
