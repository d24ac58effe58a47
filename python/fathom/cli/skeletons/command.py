"""`fathom @name@`: say what it is for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.command import Command

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="A campaign directory.", show_default=False)]


def @file@(directory: Directory) -> None:
    """Count the runs of a campaign."""
    from fathom import results

    typer.echo(len(results.read(directory).runs))


COMMAND = Command("@name@", 95, @file@, ("fathom @name@ results/batch-insert",))
