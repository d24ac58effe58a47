"""`fathom volume check`: a daemon's settings and its volumes, before it is started or restarted with them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.campaigns import AsJson
from fathom.cli.command import Command

Settings = Annotated[Path, typer.Argument(metavar="SETTINGS", help="A daemon's settings file.", show_default=False)]


def check(
    settings: Settings,
    settings_only: Annotated[
        bool, typer.Option("--settings-only", help="Open no device; works beside a running daemon.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a settings file and its volumes: do mirrors and pools open, what do write-back caches hold?

    Reports every mistake in the settings with its line. Reads superblocks, and of a write-back cache the redo ring
    and every record of the log; writes nothing. Exit code 0: sound; 1: something is wrong, or would be refused at the
    start; 2: the settings are wrong; 3: not everything could be looked at, because a daemon holds a device, one is not
    there or is no device, or something lies above a write-back cache.
    """
    from fathom.host.fathomd import program

    flags = [flag for flag, given in (("--settings-only", settings_only), ("--json", as_json)) if given]
    done = subprocess.run([program(), "--check", *flags, str(settings)], check=False)
    raise typer.Exit(done.returncode)


COMMAND = Command(
    "volume check",
    114,
    check,
    ("fathom volume check /etc/fathom/fathomd.toml", "fathom volume check fathomd.toml --settings-only"),
)
